/** Tests the full-screen chat in a terminal of `script`, as it stands on the screen. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from './support/client.ts'
import { createTenant, server } from './support/here.ts'
import { root } from './support/server.ts'

const [columns, rows] = [72, 24]

function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version']).toString().includes('util-linux')
  } catch {
    return false // Systems of BSD have another program of this name.
  }
}

/** Keeps what is written at places of the screen. The chat moves the caret before each line that it writes. */
function createScreen() {
  let lines: string[] = Array.from({ length: rows }, () => '')
  let open = ''
  // eslint-disable-next-line no-control-regex
  const line = /\u001b\[(\d+);1H((?:(?!\u001b\[\d+;\d+H|\u001b\[K)[\s\S])*)\u001b\[K/g
  return {
    write(text: string) {
      open += text
      if (open.includes('\u001b[2J')) lines = lines.map(() => '')
      for (const [, row = '', written = ''] of open.matchAll(line)) {
        // eslint-disable-next-line no-control-regex
        lines[Number(row) - 1] = written.replace(/\u001b\[[0-9;?]*[a-zA-Z]/g, '').trimEnd()
      }
      open = open.slice(open.lastIndexOf('\u001b[?25l'))
    },
    read: () => lines.join('\n'),
  }
}

describe.skipIf(!hasScript())('the full-screen chat', () => {
  const home = mkdtempSync(join(tmpdir(), 'talaria-screen-'))
  const children: ChildProcess[] = []
  let tenant: Awaited<ReturnType<typeof createTenant>>
  beforeAll(async () => void (tenant = await createTenant()))
  afterAll(() => {
    for (const child of children) child.kill()
    rmSync(home, { recursive: true, force: true })
  })

  function open(args = '', more: Readonly<Record<string, string>> = {}) {
    const env = {
      ...more,
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      TERM: 'xterm-256color',
      XDG_CONFIG_HOME: home,
      TALARIA_URL: server.url,
      TALARIA_API_KEY: tenant.key ?? '',
    }
    const command = `stty cols ${columns} rows ${rows}; exec ${process.execPath} ${join(root, 'bin/talaria.mjs')} ${args}`
    const child = spawn('script', ['-qec', command, '/dev/null'], { env, cwd: home })
    children.push(child)
    const screen = createScreen()
    let all = ''
    child.stdout.on('data', (bytes: Buffer) => {
      all += bytes.toString()
      screen.write(bytes.toString())
    })
    const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
    const type = (text: string) => void child.stdin.write(text)
    return {
      type,
      /** Keys decide half a second after a request has appeared. Until then they are text. */
      decide: async (key: string, asked: string) => {
        await eventually(
          async () => {
            type(`\u0015${key}`)
            return screen.read()
          },
          (shown) => !shown.includes(asked),
          20_000,
        )
        type('\u0015')
      },
      shows: (text: string | RegExp) =>
        eventually(
          async () => screen.read(),
          (shown) => (typeof text === 'string' ? shown.includes(text) : text.test(shown)),
          20_000,
        ),
      written: () => all,
      /** The shell that `script` starts becomes the chat. */
      end: (signal: NodeJS.Signals) => process.kill(Number(execFileSync('pgrep', ['-P', String(child.pid)])), signal),
      closed,
    }
  }
  const [enter, newLine] = ['\r', '\u001b\r']
  const listSaid = async () => {
    const [session] = (await tenant.client.get('/api/sessions?limit=1')).json.data
    const { data } = (await tenant.client.get(`/api/sessions/${session.id}/messages?limit=50`)).json
    return data.flatMap((one: { role: string; content: unknown }) => (one.role === 'user' ? [one.content] : []))
  }

  it('streams Markdown, shows calls, decides by a key, completes files, keeps the history, and resumes', async () => {
    await tenant.client.send('PATCH', '/api/settings', { body: { approvals: { mode: 'manual' } } })
    writeFileSync(join(home, 'local-notes.txt'), 'from this computer')
    const chat = open()
    await chat.shows('Enter sends')
    chat.type(`[[say # Title${newLine}${newLine}It is **bold** and \`code\`.]]${enter}`)
    await chat.shows(/^Title$/m)
    await chat.shows('It is bold and code.')
    expect(chat.written()).toContain('\u001b[1mbold\u001b[0m')

    chat.type(
      `[[call write_file {"path":"made.txt","content":"x"} then terminal {"command":"rm -rf build"} then say gone]]${enter}`,
    )
    await chat.shows('✓ write_file made.txt')
    await chat.shows('Allow terminal?')
    await chat.shows('rm -rf build')
    // Somebody who was typing has not decided.
    chat.type('a')
    await chat.shows('The keys decide while the field is empty.')
    await chat.decide('d', 'Allow terminal?')
    await chat.shows(/^gone$/m)
    await chat.shows('Enter sends')
    chat.type(`[[call clarify {"question":"Which colour?","choices":["red","blue"]} then say chosen]]${enter}`)
    await chat.shows('2. blue')
    await chat.decide('2', '2. blue')
    await chat.shows(/^chosen$/m)
    await chat.shows('Enter sends')

    // A path of the workspace, and one of this computer, whose file goes with the message.
    chat.type('see @made\t')
    await chat.shows('› see @made.txt')
    chat.type(' and @local-n\t')
    await chat.shows('@local-notes.txt')
    chat.type(enter)
    await eventually(listSaid, (said) => JSON.stringify(said.at(-1)).includes('see @made.txt and @local-notes.txt'))
    expect(JSON.stringify((await listSaid()).at(-1))).toContain('from this computer')
    await chat.shows('Enter sends')

    chat.type('\u001b[A')
    await chat.shows('› see @made.txt and @local-notes.txt')
    chat.type('\u0003')
    // The typed text finds an earlier message, and the arrow goes up in a text of several lines.
    chat.type('bold\u001b[A\u001b[A')
    await chat.shows('› [[say # Title')
    chat.type('\u0003\u0004')
    expect(await chat.closed).toBe(0)
    expect(chat.written()).toContain('\u001b[?1049l')
    const [, id = ''] = /To go on: talaria -s (\S+)/.exec(chat.written()) ?? []
    expect(id).toMatch(/^ses_/)

    const again = open('--last', { NO_COLOR: '1' })
    await again.shows('+ uploads/')
    await again.shows('✗ terminal rm -rf build')
    await again.shows(/^chosen$/m)
    again.type('\u001b[5~\u001b[5~')
    await again.shows(/\d+ lines below/)
    await again.shows(/^Title$/m)
    again.type('\u001b[6~\u001b[6~')
    again.type('\u001b[A')
    await again.shows('› see @made.txt and @local-notes.txt')
    again.type('\u0003')
    again.type(`[[slow ttft=20 chunks=2000 gap=50]]${enter}`)
    await again.shows('answering')
    await again.shows('word3')
    again.type('\u0003')
    await again.shows('stopped')
    await again.shows('Enter sends')
    again.type('\u0012')
    await again.shows('Sessions')
    again.type(enter)
    await again.shows(/^chosen$/m)
    // eslint-disable-next-line no-control-regex
    expect(again.written()).not.toMatch(/\u001b\[[\d;]*m/)
    // The shell gets its screen back, however the chat ends.
    again.end('SIGTERM')
    expect(await again.closed).toBe(143)
    expect(again.written().endsWith('\u001b[?1049l\u001b[?25h')).toBe(true)
  }, 120_000)
})
