"""Functions that are written once, and that modules of the paper have under several names."""

from types import FunctionType, MethodType
from typing import Any


class Functions:
    """Functions as methods of what tells them apart, a protocol for example.

    A module has them under names of its own, and ``publish`` tells them these names.
    """

    _name: str

    def __reduce__(self) -> str:
        return self._name


def publish(module: dict[str, Any]) -> None:
    """Give methods the names that a module has them under.

    Messages and help show these names, and pickles and copies find the methods by them. Of two
    names for one method, the first counts.
    """
    named: dict[MethodType, MethodType] = {}
    for name, each in list(module.items()):
        if isinstance(each, Functions):
            each.__module__, each._name = module["__name__"], name
        elif isinstance(each, MethodType):
            if each not in named:
                named[each] = _rename(each, module["__name__"], name)
            module[name] = named[each]


def _rename(method: MethodType, module: str, name: str) -> MethodType:
    written = method.__func__
    function = FunctionType(written.__code__, written.__globals__, name, written.__defaults__)
    function.__kwdefaults__ = written.__kwdefaults__
    function.__annotations__ = written.__annotations__
    function.__module__, function.__qualname__ = module, name
    renamed = MethodType(function, method.__self__)
    # Not by ``vars``, after which attributes would be found more slowly
    setattr(method.__self__, name, renamed)
    return renamed
