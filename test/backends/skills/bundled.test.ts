/** Tests the bundled skills: each is valid and described in the index, and its commands and programs run. */

import { describe, expect, it } from 'vitest'
import { bundledIndex } from '#agent/skills/bundled-index.ts'
import { findSuspicious, getVerdict } from '#agent/skills/skill-verdict.ts'
import { searchSkills } from '#agent/skills/search-skills.ts'
import { openPrograms } from '#backends/isolate/programs.ts'
import { loadSkillModule } from '#backends/modules.ts'
import { readBundledSkills } from '#durable/tenant/skills/bundled-skills.ts'
import { tools } from '#tools/index.ts'
import { bindings, inWorkspace } from '../support/workspace.ts'

const { parseSkillFile } = await loadSkillModule()
const skills = Object.entries(await readBundledSkills())

/** Code blocks of a language. `bash` blocks need a network, so that only `sh` blocks run. */
const blocksOf = (text: string, language: string): readonly string[] =>
  [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].flatMap(([, name, code]) =>
    name === language && code !== undefined ? [code] : [],
  )

describe.each(skills)('the bundled skill %s', (name, text) => {
  const parsed = parseSkillFile(text)

  it('is valid, safe, short, and the same in the index', () => {
    if (!parsed.ok) throw new Error(parsed.error)
    const { head } = parsed
    expect(head.name).toBe(name)
    expect(text.split('\n').length).toBeLessThan(150)
    expect(getVerdict(findSuspicious([{ path: 'SKILL.md', text }], 'user'))).toBe('safe')
    const { category, platforms, requires, fallbackFor } = head
    expect(bundledIndex.find((one) => one.name === name)).toEqual({
      name,
      category,
      platforms,
      requires,
      fallbackFor,
    })
  })

  it('needs only tools that exist', () => {
    const known = new Set(tools.map((tool) => tool.name))
    const required = parsed.ok ? parsed.head.requires.tools : []
    expect(required.filter((tool) => !known.has(tool))).toEqual([])
  })

  it('has commands that run in the virtual shell', async () => {
    await inWorkspace({ loader: undefined }, async ({ backend }) => {
      for (const command of blocksOf(text, 'sh')) {
        const { exitCode, stderr } = await backend.exec(`set -e\n${command}`, { timeoutMs: 20_000 })
        expect([command, exitCode, stderr]).toEqual([command, 0, ''])
      }
    })
  })

  it('has programs that run', async () => {
    const run = openPrograms({ loader: bindings.LOADER, tenantId: 'test' })
    for (const source of blocksOf(text, 'js')) {
      const { signal } = new AbortController()
      const call = async (tool: string, input: unknown) => ({ ok: { tool, input } })
      const end = await run({ source, tools: [], timeoutMs: 20_000, signal, call })
      expect(end).toMatchObject({ status: 'success' })
    }
  })
})

it('is listed once in the index, and nothing else is', () => {
  expect(bundledIndex.map(({ name }) => name).toSorted()).toEqual(skills.map(([name]) => name).toSorted())
  expect(skills.length).toBeGreaterThanOrEqual(40)
})

it('answers what the examples promise', async () => {
  const text = skills.find(([name]) => name === 'shell-text')?.[1] ?? ''
  const [fixture = '', questions = ''] = blocksOf(text, 'sh')
  await inWorkspace({ loader: undefined }, async ({ backend }) => {
    await backend.exec(fixture, { timeoutMs: 20_000 })
    const { stdout } = await backend.exec(questions, { timeoutMs: 20_000 })
    expect(stdout.replace(/^ +/gm, '')).toContain('2 ERROR\n')
    expect(stdout).toContain('\n7\n9\n')
    expect(stdout).toContain('2030-01-01T10:01:00 ERROR db timeout user=9\n')
  })
})

it('is found by the words of a task', async () => {
  const all = skills.flatMap(([, text]) => {
    const parsed = parseSkillFile(text)
    return parsed.ok ? [{ head: parsed.head, text }] : []
  })
  const wanted = {
    'merge a pull request': 'open-pull-request',
    'the git rebase has conflicts': 'merge-conflict',
    'summarise this long thread': 'summarise-text',
    'minutes of our meeting': 'meeting-minutes',
    'remove duplicates in a csv': 'clean-csv',
    'draw a chart': 'chart-data',
  }
  for (const [query, name] of Object.entries(wanted))
    expect([query, searchSkills(all, query)[0]]).toEqual([query, name])
})
