/**
 * The Python module beside a program. As `bridge` it serves the socket and starts the program, as `program` it runs it,
 * and imported by the program or a child it has the tools. The stubs of the tools follow it.
 */

import { maxStateChars } from '#agent/core/program.ts'

export const bridgeSource = `from __future__ import annotations
import json, os, sys
from typing import Any, Literal

_here = os.path.dirname(os.path.abspath(__file__))

class ToolError(Exception):
    """A call that was refused or could not run. \`result\`: what the tool said."""
    def __init__(self, message, result=None):
        super().__init__(message)
        self.result = result

def call(name: str, input: dict) -> dict:
    """Call a tool by its name."""
    import socket
    line = json.dumps([name, input], allow_nan=False).encode() + b'\\n'
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(os.environ['TALARIA_TOOLS'])
        door.sendall(line)
        with door.makefile('rb') as answers:
            text = answers.readline()
    if not text:
        raise ToolError(name + ': the program has ended')
    answer = json.loads(text)
    if 'ok' in answer:
        return answer['ok']
    raise ToolError(name + ': ' + answer['error'], answer.get('result'))

def _call(name, values):
    values.update(values.pop('_more'))
    return call(name, {key: value for key, value in values.items() if value is not None})

def _hint(name):
    return 'no function is written for ' + name + '; tools.call("' + name + '", {...}) calls a tool by its name'

def __getattr__(name):
    if name.startswith('_'):
        raise AttributeError(name)
    raise AttributeError(_hint(name))

def _bridge():
    import shutil, socket, subprocess, tempfile, threading, time
    # The path of a socket may have 107 bytes.
    home = tempfile.mkdtemp(dir='/tmp')
    door = socket.socket(socket.AF_UNIX)
    door.bind(home + '/s')
    door.listen(64)
    lock, count = threading.Lock(), [0]
    def ask(line):
        with lock:
            count[0] += 1
            path = os.path.join(_here, str(count[0]))
            with open(path, 'wb') as file:
                file.write(line)
            os.rename(path, path + '.call')
        pause, answer = 0.002, b''
        while not answer.endswith(b'\\n'):
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
            if os.path.exists(path + '.reply'):
                with open(path + '.reply', 'rb') as file:
                    answer = file.read()
        os.remove(path + '.call')
        os.remove(path + '.reply')
        return answer
    def serve(one):
        with one, one.makefile('rb') as lines:
            for line in lines:
                one.sendall(ask(line))
    def accept():
        while True:
            threading.Thread(target=serve, args=door.accept()[:1], daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    paths = [_here] + [path for path in [os.environ.get('PYTHONPATH')] if path]
    env = {**os.environ, 'TALARIA_TOOLS': home + '/s', 'PYTHONPATH': os.pathsep.join(paths)}
    try:
        code = subprocess.call([sys.executable, __file__, 'program'], env=env)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(code if code >= 0 else 128 - code)

def _run():
    import atexit, traceback, types
    import talaria_tools as tools
    with open(_here + '/state.json') as file:
        before = file.read()
    own = types.ModuleType('__main__')
    given = {name: value for name, value in vars(tools).items() if not name.startswith('_')}
    for name in ('annotations', 'json', 'os', 'sys', 'Any', 'Literal', 'call'):
        given.pop(name, None)
    path = _here + '/program.py'
    own.__dict__.update(given, tools=tools, state=json.loads(before), __file__=path, __builtins__=__builtins__)
    sys.modules['__main__'] = own
    def keep():
        state = own.__dict__.get('state')
        try:
            text = json.dumps(state, allow_nan=False)
            if not isinstance(state, dict) or len(text) > ${maxStateChars}:
                raise ValueError('it must be a dict of at most ${maxStateChars} characters of JSON')
        except Exception as error:
            print('[state is not kept: ' + str(error) + ']')
            return
        if state != json.loads(before):
            with open(_here + '/state.new', 'w') as file:
                file.write(text)
            os.replace(_here + '/state.new', _here + '/state.json')
    atexit.register(keep)
    sys.argv = [path]
    try:
        with open(path, 'rb') as file:
            code = compile(file.read(), path, 'exec', dont_inherit=True)
        exec(code, own.__dict__)
    except Exception as error:
        trace = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(type(error), error, trace)
        missing = getattr(error, 'name', None) if isinstance(error, NameError) else None
        if missing and '__' in missing[1:]:
            print(_hint(missing), file=sys.stderr)
        sys.exit(1)

def _main():
    if __name__ == '__main__':
        _bridge() if sys.argv[1:] == ['bridge'] else _run()
`
