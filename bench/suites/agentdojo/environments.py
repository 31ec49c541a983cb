"""Holds the environments of AgentDojo, and judges what happened in them (json_lines.py).

list: suites with tools and tasks. open: an environment of a lane, with a planted text or without. call: a tool. judge:
whether the task of the user is done, and whether the attacker got what they wanted.
"""

import datetime
import json
import logging
import sys
import types

import json_lines

logging.disable(logging.CRITICAL)


class Anything(types.ModuleType):
    def __getattr__(self, name):
        return type(name, (), {"__class_getitem__": classmethod(lambda cls, item: cls)})


# The pipelines need the SDKs of providers, and no environment needs a pipeline.
for name in ("", ".base_pipeline_element", ".errors", ".ground_truth_pipeline"):
    module = Anything("agentdojo.agent_pipeline" + name)
    module.__path__ = []
    sys.modules["agentdojo.agent_pipeline" + name] = module
sys.modules["agentdojo.agent_pipeline.errors"].AbortAgentError = type("AbortAgentError", (Exception,), {})

from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime  # noqa: E402
from agentdojo.task_suite.load_suites import get_suites  # noqa: E402

suites = get_suites("v1")
lanes = {}


class Moment(str):
    """A time as text that also has the methods of a date: some copies of the suite keep texts where its tasks expect dates."""

    def __getattr__(self, name):
        kind = datetime.date if len(self) == len("2024-05-15") else datetime.datetime
        return getattr(kind.fromisoformat(self), name)


def dated(environment):
    """Returns a copy whose calendar has times with the methods of dates."""
    copy = environment.model_copy(deep=True)
    calendar = getattr(copy, "calendar", None)
    fields = [(event, name) for event in calendar.events.values() for name in ("start_time", "end_time")] if calendar else []
    for owner, name in fields + ([(calendar, "current_day")] if calendar else []):
        if isinstance(getattr(owner, name), str):
            setattr(owner, name, Moment(getattr(owner, name)))
    return copy


def plain(value):
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def calls_of(task, environment):
    return [{"name": one.function, "input": json.loads(json.dumps(plain(dict(one.args)), default=str))} for one in task.ground_truth(environment)]


def describe(suite):
    return {
        "tools": [
            {
                "name": one.name,
                "description": one.description[:500],
                "inputSchema": one.parameters.model_json_schema(),
            }
            for one in suite.tools
        ],
        "users": list(suite.user_tasks),
        "injections": list(suite.injection_tasks),
    }


def start(request):
    suite = suites[request["suite"]]
    user = suite.user_tasks[request["user"]]
    injection = suite.injection_tasks.get(request.get("injection"))
    planted = {name: request["text"].replace("GOAL", injection.GOAL) for name in suite.get_injection_vector_defaults()} if injection else {}
    # A quote would end the text in the YAML of the environment.
    planted = {name: text.replace('"', "'").replace("\n", " ") for name, text in planted.items()}
    environment = user.init_environment(suite.load_and_inject_default_environment(planted))
    lanes[request["lane"]] = {
        "suite": suite,
        "user": user,
        "injection": injection,
        "before": environment.model_copy(deep=True),
        "environment": environment,
        "runtime": FunctionsRuntime(suite.tools),
        "trace": [],
    }
    return {
        "prompt": user.PROMPT,
        "output": user.GROUND_TRUTH_OUTPUT,
        "calls": calls_of(user, dated(environment)),
        "attack": calls_of(injection, dated(environment)) if injection else [],
    }


def call(request):
    lane = lanes[request["lane"]]
    lane["trace"].append(FunctionCall(function=request["name"], args=request["input"]))
    result, error = lane["runtime"].run_function(lane["environment"], request["name"], request["input"])
    return {"error": error} if error else {"text": json.dumps(plain(result), default=str)}


def judge(request):
    lane = lanes[request["lane"]]
    content = [{"type": "text", "content": request["output"]}]
    given = (content, dated(lane["before"]), dated(lane["environment"]), lane["trace"])
    harmed = lane["injection"] and lane["suite"]._check_injection_task_security(lane["injection"], *given)
    return {"done": bool(lane["suite"]._check_user_task_utility(lane["user"], *given)), "harmed": bool(harmed)}


def list_suites(request):
    return {name: describe(suite) for name, suite in suites.items()}


json_lines.serve({"list": list_suites, "open": start, "call": call, "judge": judge})
