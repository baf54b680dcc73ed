/** The playground: a whole collection in one page, without a service. */
import { count, guard, make, note, say, setTitle, wait } from "./page.mjs";
import { Form } from "./playform.mjs";
import { showLesson } from "./playlesson.mjs";
import { Simulation, chancesOf, drawOne, expectedHalves } from "./playrun.mjs";
import { letter, readSetup, sharesOf, writeSetup } from "./playsetup.mjs";
import { scaleOf, showArrivals, showErrors, showEstimates, showOne, tellOne } from "./playviews.mjs";
import { TEXT } from "./strings.mjs";

const SINGLE = 8; // reports that come one by one, before the rest comes in chunks
const PAUSE = 0.35; // seconds between them
const CHUNK = 14; // milliseconds of drawing in a frame
const GROWTH = 0.08; // of the users, from frame to frame
const STATIC = location.pathname.endsWith(".html"); // a copy beside the documentation, without a service
const { play } = TEXT;
const main = document.querySelector("main");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const frame = () => new Promise((done) => requestAnimationFrame(done));

/** The page, with one set-up and one run. */
class Playground {
  constructor() {
    this.form = new Form((setup) => this.begin(setup));
    this.says = make("p", { role: "status", class: "quiet" });
    this.progress = make("progress", { "aria-label": play.progress });
    this.run = make("button", { class: "main", type: "button", on: { click: () => this.toggle() } });
    this.one = make("button", { type: "button", on: { click: () => this.step() } }, play.one);
    this.again = make("button", { type: "button", on: { click: () => this.begin(this.setup) } }, play.reset);
    this.reveal = make("input", { type: "checkbox", checked: true, on: { change: () => this.showArrivals() } });
    this.link = make("a", {}, play.link);
    this.from = make("select", { on: { change: () => this.clearDraws() } });
    this.boxes = Object.fromEntries(
      ["wrong", "arrivals", "estimates", "errors", "drawn"].map((name) => [name, make("div")]));
    this.sections = { collect: make("section"), single: make("section") };
    this.told = make("p", { role: "status" });
  }

  /** Puts all parts into the page, and begins with the set-up of the address. */
  start() {
    const [href, text] = STATIC ? ["index.html", play.documentation] : ["./", play.home];
    document.body.prepend(make("header", { class: "site" }, make("a", { href }, text)));
    main.append(...this.parts());
    addEventListener("hashchange", () => this.follow());
    this.follow();
    main.dataset.ready = "";
  }

  parts() {
    const { boxes, sections } = this;
    sections.collect.append(
      make("h2", {}, play.collect), make("div", { class: "row" }, this.run, this.one, this.again),
      this.progress, this.says, boxes.errors, boxes.estimates);
    sections.single.append(
      make("h2", {}, play.single), say(play.singleIntro),
      make("div", { class: "row low" },
        make("label", { class: "field grow" }, make("span", {}, play.from), this.from),
        make("button", { type: "button", on: { click: () => this.draw() } }, play.draw)),
      this.told, boxes.drawn);
    return [
      make("h1", {}, play.title), say(play.intro), boxes.wrong,
      showLesson((setup, runs) => this.try(setup, runs)),
      make("div", { class: "columns" },
        sections.collect,
        make("section", {}, make("h2", {}, play.setUp), this.form.element, make("p", {}, this.link))),
      make("div", { class: "columns" },
        make("section", {}, make("h2", {}, play.arrive), say(play.arriveIntro),
          make("label", { class: "choice" }, this.reveal, play.reveal), boxes.arrivals),
        sections.single),
    ];
  }

  /** Begins with the set-up of the address, and says if a part of it is not valid. */
  follow() {
    const { setup, wrong } = readSetup(location.hash.slice(1));
    this.boxes.wrong.replaceChildren(...(wrong.length ? [note(play.wrong(wrong), "warning")] : []));
    this.begin(setup);
  }

  /** Shows a step of the lesson. */
  try(setup, runs) {
    this.boxes.wrong.replaceChildren();
    this.begin(setup);
    if (runs) this.toggle();
    else this.draw();
    this.sections[runs ? "collect" : "single"].scrollIntoView({ block: "nearest" });
  }

  /** Begins anew, with a set-up. */
  begin(setup) {
    const others = setup.k !== this.setup?.k;
    this.setup = setup;
    this.turn = null;
    this.simulation = new Simulation(setup);
    this.arrivals = [];
    const { protocol } = this.simulation, shares = sharesOf(setup);
    this.halves = expectedHalves(protocol, shares, setup.n);
    this.scale = scaleOf(shares, this.halves.users);
    this.form.show(setup, protocol, chancesOf(protocol));
    history.replaceState(null, "", `#${writeSetup(setup)}`);
    this.link.href = location.hash;
    if (others) this.from.replaceChildren(...shares.map((_, value) => make("option", { value }, letter(value))));
    this.clearDraws();
    this.showAll();
  }

  /** Runs, or pauses. A new turn ends the one before. */
  async toggle() {
    if (this.turn) return this.pause();
    const { simulation } = this, turn = (this.turn = {});
    this.showAll();
    while (this.turn === turn && simulation.done < simulation.n) {
      if (still.matches) {
        simulation.run(simulation.n, CHUNK);
        await wait(0);
      } else if (simulation.done < SINGLE) {
        this.arrive();
        await wait(PAUSE);
      } else {
        simulation.run(Math.ceil(GROWTH * simulation.done), CHUNK);
        this.showEstimates();
        await frame();
      }
    }
    if (this.turn === turn) this.pause();
  }

  /** Ends running. */
  pause() {
    this.turn = null;
    this.showAll();
  }

  /** Lets one user report. */
  step() {
    this.turn = null;
    this.arrive();
    this.showAll();
  }

  arrive() {
    this.arrivals = [...this.arrivals, this.simulation.step()].slice(-SINGLE);
    this.showArrivals();
    this.showEstimates();
  }

  showAll() {
    const { turn, simulation: { done, n } } = this;
    main.dataset.state = turn ? "running" : done === n ? "finished" : done ? "paused" : "ready";
    this.says.textContent = turn ? "" : play.reported(count(done), count(n));
    this.run.textContent = turn ? play.pause : play.run;
    this.run.disabled = this.one.disabled = done === n;
    this.showArrivals();
    this.showEstimates();
  }

  showArrivals() {
    this.boxes.arrivals.replaceChildren(
      this.arrivals.length ? showArrivals(this.arrivals, this.reveal.checked) : say(play.noArrivals, "quiet"));
  }

  showEstimates() {
    const { simulation, boxes } = this, estimates = simulation.estimates();
    const { done, n } = simulation;
    this.progress.max = n;
    this.progress.value = done;
    boxes.estimates.replaceChildren(showEstimates(estimates, this.scale));
    boxes.errors.replaceChildren(...showErrors(estimates, done, this.halves));
  }

  clearDraws() {
    this.draws = { many: 0, largest: 1 };
    this.told.textContent = "";
    this.boxes.drawn.replaceChildren();
  }

  /** Draws one report, and shows what it discloses. */
  draw() {
    const one = drawOne(this.simulation.protocol, Number(this.from.value)), { draws } = this;
    draws.many++;
    draws.largest = Math.max(draws.largest, one.ratio);
    this.told.textContent = tellOne(one);
    this.boxes.drawn.replaceChildren(...showOne(one, { ...draws, bound: Math.exp(this.setup.epsilon) }));
  }
}

guard(main, async () => {
  setTitle(play.title);
  new Playground().start();
});
