"""Runs the simulators of BFCL's multi-turn cases (json_lines.py).

open: makes the objects of a lane. call: calls a method by name with keyword arguments. state: the attributes of all
objects. parse: a call as Python writes it, as name and arguments.
"""

import ast
import copy
import importlib
import inspect
import json

import json_lines

SOURCE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code."
MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
lanes = {}


def make(name, config, is_long):
    made = getattr(importlib.import_module(SOURCE + MODULES[name]), name)()
    if hasattr(made, "_load_scenario"):
        made._load_scenario(copy.deepcopy(config.get(name, {})), long_context=is_long)
    return made


def dump(value, depth=0):
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, dict):
        return {str(key): dump(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [dump(one, depth + 1) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if hasattr(value, "__dict__") and depth < 60:
        # A directory knows its parent.
        return {key: dump(one, depth + 1) for key, one in vars(value).items() if key not in ("parent", "_parent", "_random")}
    return type(value).__name__


def method(lane, name):
    for made in lanes[lane].values():
        found = getattr(made, name, None)
        if found is not None and not name.startswith("_"):
            return found
    raise ValueError("There is no function " + name)


def call(request):
    try:
        result = method(request["lane"], request["name"])(**request["input"])
        return result if isinstance(result, str) else json.dumps(result, default=str)
    except Exception as error:
        return "Error during execution: " + str(error)


def parse(request):
    node = ast.parse(request["text"].strip(), mode="eval").body
    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    names = list(inspect.signature(method(request["lane"], name)).parameters)
    given = {names[at]: ast.literal_eval(value) for at, value in enumerate(node.args)}
    given.update({one.arg: ast.literal_eval(one.value) for one in node.keywords})
    return {"name": name, "input": given}


def start(request):
    lanes[request["lane"]] = {name: make(name, request["config"], request["isLong"]) for name in request["classes"]}
    return True


def state(request):
    return dump(lanes[request["lane"]])


json_lines.serve({"open": start, "call": call, "state": state, "parse": parse})
