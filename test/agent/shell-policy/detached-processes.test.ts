import { describe, expect, it } from 'vitest'
import { findForegroundProblem } from '#agent/shell-policy/detached-processes.ts'

describe('commands that end with their call', () => {
  it.each([
    'ls',
    'echo "a & b"',
    "echo 'nohup x &'",
    'grep -n "tail -f" README.md',
    'make 2>&1 | tail -5',
    'make &> build.log',
    'a && b || c',
    'sleep 1 & sleep 2 & wait',
    'node server.js & PID=$!; sleep 1; kill $PID; wait',
    'cat <<EOF\nnpm start &\nnohup x\nEOF',
    'echo $((a & b))',
    '[[ a == "&" ]] # npm start &',
    'vite build',
    'npm run build',
    'tail -n 20 app.log',
    'watch --help',
    'nohup=1; echo $nohup',
    'echo watch',
  ])('%s', (command) => expect(findForegroundProblem(command)).toBeUndefined())
})

describe('commands that do not end with their call', () => {
  it.each([
    ['nohup make', 'nohup, setsid'],
    ['(cd x && nohup make)', 'nohup, setsid'],
    ['env A=1 nohup make &', 'nohup, setsid'],
    ['setsid -f make', 'nohup, setsid'],
    ['make & disown', 'nohup, setsid'],
    ['echo "$(nohup make)"', 'nohup, setsid'],
    ['make &', 'A trailing &'],
    ['(sleep 9 &)', 'A trailing &'],
    ['npm start & sleep 3; curl localhost', 'A trailing &'],
    ['f() { sleep 9 & }; f', 'A trailing &'],
    ['npm run dev', 'does not end by itself'],
    ['cd web && pnpm dev', 'does not end by itself'],
    ['PORT=3000 yarn start', 'does not end by itself'],
    ['npx vite', 'does not end by itself'],
    ['next dev', 'does not end by itself'],
    ['python3 -m http.server 8000', 'does not end by itself'],
    ['flask run', 'does not end by itself'],
    ['uvicorn app:app', 'does not end by itself'],
    ['tail -f app.log', 'does not end by itself'],
    ['tail --follow=name app.log', 'does not end by itself'],
    ['watch ls', 'does not end by itself'],
    ['bash -lc ls; \'npm\' "start"', 'does not end by itself'],
  ])('%s', (command, because) => expect(findForegroundProblem(command)).toContain(because))
})
