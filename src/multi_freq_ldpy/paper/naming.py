"""Functions that are written once and published under several names."""

from types import FunctionType, MethodType
from typing import Any


class Functions:
    """Functions as methods of an object, which holds for example their protocol.

    Each module of the paper gives the functions its own names. ``publish`` writes these names into
    the methods.
    """

    _name: str

    def __reduce__(self) -> str:
        return self._name


def publish(module: dict[str, Any]) -> None:
    """Give methods the names that a module uses for them.

    Messages and help show these names. Pickles and copies find the methods by these names. If one
    method has two names, the first name counts.
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
    # ``vars`` is not used, because attributes would be found more slowly afterwards
    setattr(method.__self__, name, renamed)
    return renamed
