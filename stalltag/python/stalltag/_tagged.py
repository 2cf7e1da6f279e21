"""The functions that tagged() puts in the place of others.

What pickles functions by value (cloudpickle, and so joblib, Ray and Spark; dill) takes along the globals that they use, or all of their
module's. The library's functions are pointers, which cannot be pickled: so they are not among this module's globals, but reached by
way of `stalltag`, which is sent by its name.
"""
import functools

import stalltag


def of_function(function, arguments):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if stalltag._traced and stalltag._traced():
            return function(*args, **kwargs)
        stalltag._push(*arguments)
        try:
            return function(*args, **kwargs)
        finally:
            stalltag._pop()

    return call


def of_coroutine_function(function, name, id):
    @functools.wraps(function)
    async def run(*args, **kwargs):
        async with stalltag.tag(name, id):
            return await function(*args, **kwargs)

    return run
