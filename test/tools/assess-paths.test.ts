/** Tests the path policy where tools use it: one answer for the terminal, the file tools and searches. */

import { describe, expect, it } from 'vitest'
import { shellPolicy } from '#agent/shell-policy/shell-policy.ts'
import type { Tool } from '#agent/core/tool.ts'
import { checkPermission } from '#tools/check-permission.ts'
import patch from '#tools/file/patch.tool.ts'
import readFile from '#tools/file/read-file.tool.ts'
import searchFiles from '#tools/file/search-files.tool.ts'
import writeFile from '#tools/file/write-file.tool.ts'
import terminal from '#tools/terminal/terminal.tool.ts'
import { memoryBackend } from './support/memory-backend.ts'

const shell = { read: () => ({ cwd: '/workspace', env: {} }), write: () => undefined, policy: async () => shellPolicy }

const check = (
  tool: Tool,
  input: object,
  { files = {}, backend = memoryBackend(files), mode = 'manual' as const } = {},
) => {
  const call = { id: 'c1', name: tool.name, input, effect: tool.effect, state: 'planned' } as const
  return checkPermission(call, tool, {
    services: { backend, shell },
    policy: () => ({ mode, rules: [], grants: [], decisions: [] }),
    describeLocation: () => 'here',
    judge: async () => 'escalate',
    now: () => 0,
  })
}
const outcome = async (tool: Tool, input: object, files = {}) => (await check(tool, input, { files })).do

const trusted = [
  '.git/config',
  '.git/hooks/pre-commit',
  'sub/.git/config',
  '.ssh/authorized_keys',
  '/home/user/.bashrc',
  '.envrc',
  '.env',
  '.env.production',
  '.husky/pre-push',
  '.github/workflows/ci.yml',
  '.gitlab-ci.yml',
  'Jenkinsfile',
  '.npmrc',
  '.aws/credentials',
  '.vscode/tasks.json',
  '.gitattributes',
  'x/../.git/config',
  '/etc/hosts',
]
const secrets = [
  '.env',
  'config/.env.local',
  '.ssh/id_rsa',
  'deploy/server.pem',
  '.aws/credentials',
  '/etc/shadow',
  '.netrc',
]

describe('writing a file that other programs run or trust', () => {
  it.each(trusted)('needs approval: %s', async (path) => {
    expect(await outcome(writeFile, { path, content: 'x' })).toBe('later')
    expect(await outcome(patch, { mode: 'replace', path, old_string: 'a', new_string: 'b' })).toBe('later')
    expect(
      await outcome(patch, { mode: 'patch', patch: `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch` }),
    ).toBe('later')
    expect(await outcome(terminal, { command: `echo x > ${path}` })).toBe('later')
  })

  it.each(['src/a.ts', '.gitignore', '.env.example', 'README.md', '/tmp/x', 'docs/git/config.md', '.prettierrc'])(
    'does not stop %s',
    async (path) => {
      expect(await outcome(writeFile, { path, content: 'x' })).toBe('run')
      expect(await outcome(terminal, { command: `echo x > ${path}` })).toBe('run')
    },
  )

  it('offers to allow exactly this file', async () => {
    const found = await check(writeFile, { path: '.npmrc', content: 'x' })
    expect(found).toMatchObject({ awaits: { rule: '/workspace/.npmrc' } })
  })
})

describe('reading a secret', () => {
  it.each(secrets)('needs approval: %s', async (path) => {
    expect(await outcome(readFile, { path })).toBe('later')
    expect(await outcome(terminal, { command: `cat ${path}` })).toBe('later')
  })

  it.each(['src/a.ts', '.env.example', 'keys.md', 'environment.ts'])('does not stop %s', async (path) => {
    expect(await outcome(readFile, { path })).toBe('run')
    expect(await outcome(terminal, { command: `cat ${path}` })).toBe('run')
  })
})

describe('wildcards and recursion', () => {
  const files = { 'src/a.ts': 'x', 'deploy/.env': 'KEY=1', 'deploy/readme.md': 'x' }

  it.each([
    'grep -rn KEY .',
    'grep -r KEY deploy',
    'cat deploy/.e*',
    'cat deploy/.*',
    'tar czf x.tgz deploy',
    'cp -r deploy /tmp/x',
  ])('need approval when they read a secret of the workspace: %s', async (command) =>
    expect(await outcome(terminal, { command }, files)).toBe('later'),
  )
  it.each(['grep -rn KEY src', 'cat src/*', 'cat deploy/*', 'cat *', 'tar czf x.tgz src'])(
    'run when they read none: %s',
    async (command) => expect(await outcome(terminal, { command }, files)).toBe('run'),
  )
  it.each([
    [{ pattern: 'KEY' }, 'run'],
    [{ pattern: 'KEY', path: 'deploy' }, 'run'],
    [{ pattern: 'KEY', file_glob: '.env*' }, 'run'],
    [{ pattern: '*.ts', target: 'files' }, 'run'],
    [{ pattern: 'KEY', path: 'deploy/.env' }, 'later'],
    [{ pattern: 'KEY', path: '.ssh' }, 'later'],
    [{ pattern: 'KEY', path: '/etc' }, 'later'],
  ])('stop search_files only at its path: %j', async (input, expected) =>
    expect(await outcome(searchFiles, input, files)).toBe(expected),
  )
})

describe('links of the workspace', () => {
  const links = [
    { path: '/workspace/g', target: '.git' },
    { path: '/workspace/e', target: '.env' },
    { path: '/workspace/s', target: '/home/user/.ssh' },
    { path: '/workspace/docs', target: 'src' },
  ]
  const files = { '.env': 'A=1', 'src/a.ts': 'x' }
  const withLinks = (): ReturnType<typeof memoryBackend> => {
    const backend = memoryBackend(files)
    return { ...backend, files: { ...backend.files, links: async () => links } }
  }
  const outcomeOf = async (tool: Tool, input: object) => (await check(tool, input, { backend: withLinks() })).do

  it.each<readonly [string, Tool, object]>([
    ['read_file e', readFile, { path: 'e' }],
    ['read_file s/config', readFile, { path: 's/config' }],
    ['write_file g/hooks/pre-commit', writeFile, { path: 'g/hooks/pre-commit', content: 'x' }],
    ['write_file e', writeFile, { path: 'e', content: 'x' }],
    ['search_files s', searchFiles, { pattern: 'x', path: 's' }],
    ['cat e', terminal, { command: 'cat e' }],
    ['cat s/*', terminal, { command: 'cat s/*' }],
    ['cat *', terminal, { command: 'cat *' }],
    ['grep -r x .', terminal, { command: 'grep -r x .' }],
    ['cp a g/hooks/pre-commit', terminal, { command: 'cp a g/hooks/pre-commit' }],
  ])('are followed before %s is judged', async (_name, tool, input) => {
    expect(await outcomeOf(tool, input)).toBe('later')
  })

  it.each<readonly [string, Tool, object]>([
    ['read_file docs/a.ts', readFile, { path: 'docs/a.ts' }],
    ['write_file docs/b.ts', writeFile, { path: 'docs/b.ts', content: 'x' }],
    ['cat docs/a.ts', terminal, { command: 'cat docs/a.ts' }],
  ])('that lead to ordinary files do not stop %s', async (_name, tool, input) => {
    expect(await outcomeOf(tool, input)).toBe('run')
  })

  it('are named with their target, which is what “always” covers', async () => {
    const result = await check(readFile, { path: 'e' }, { backend: withLinks() })
    expect(result).toMatchObject({
      awaits: { rule: '/workspace/.env', reasons: [expect.stringContaining('e (/workspace/.env)')] },
    })
  })
})

describe('the default mode', () => {
  const input = { command: 'git push' }
  const decide = async (kind: 'http' | 'virtual', isolated: boolean) => {
    const plain = memoryBackend({})
    const backend = { ...plain, kind, capabilities: { ...plain.capabilities, isolated } } as typeof plain
    let judged = false
    const call = { id: 'c1', name: 'terminal', input, effect: terminal.effect, state: 'planned' } as const
    await checkPermission(call, terminal, {
      services: { backend, shell },
      policy: () => ({ rules: [], grants: [], decisions: [] }),
      describeLocation: () => 'here',
      judge: async () => {
        judged = true
        return 'escalate'
      },
      now: () => 0,
    })
    return judged ? 'smart' : 'manual'
  }

  it('is manual on a shared machine and smart elsewhere', async () => {
    expect(await decide('http', false)).toBe('manual')
    expect(await decide('http', true)).toBe('smart')
    expect(await decide('virtual', false)).toBe('smart')
  })
})
