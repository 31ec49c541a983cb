"""Answers requests of a suite: one JSON object per line on stdin, one answer per line on stdout. The first argument of the
program is the folder with the code of the suite.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])
# The code of the suite prints, and its texts are no answers.
answers, sys.stdout = sys.stdout, sys.stderr


def serve(handlers):
    """Calls the handler that `do` of a request names."""
    for line in sys.stdin:
        try:
            request = json.loads(line)
            reply = {"value": handlers[request["do"]](request)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply, default=str), flush=True, file=answers)
