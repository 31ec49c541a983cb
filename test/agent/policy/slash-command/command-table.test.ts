import { describe, expect, it } from 'vitest'
import { type CommandRights, mayPersonUse } from '#agent/policy/slash-command/command-rights.ts'
import {
  type CommandSpec,
  commandSpellings,
  commandTable,
  findCommand,
} from '#agent/policy/slash-command/command-table.ts'
import { parseCommand } from '#agent/policy/slash-command/parse-command.ts'

const table: readonly CommandSpec[] = commandTable

describe('commandTable', () => {
  it('spells every name and alias once, and as a message can be typed', () => {
    const all = table.flatMap(({ name, aliases = [] }) => [name, ...aliases])
    expect(new Set(all).size).toBe(all.length)
    expect(all.toSorted()).toEqual([...commandSpellings()].toSorted())
    for (const name of all) expect(parseCommand(`/${name} x`)).toEqual({ name, text: 'x' })
  })

  it('finds commands by their aliases', () => {
    expect(findCommand('bg')?.name).toBe('background')
    expect(findCommand('nothing')).toBeUndefined()
    expect(findCommand('constructor')).toBeUndefined()
  })
})

const guest: CommandRights = {
  scopes: ['chat'],
  isAdmin: false,
  isOperator: false,
  allowed: null,
  isOwnConversation: true,
}
const namesFor = (rights: CommandRights) => table.filter((one) => mayPersonUse(one, rights)).map(({ name }) => name)

describe('mayPersonUse', () => {
  it('lets a person change a conversation of their own, and nothing of the tenant', () => {
    const names = namesFor(guest)
    expect(names).toEqual(expect.arrayContaining(['new', 'undo', 'status', 'approve', 'help']))
    for (const name of ['sethome', 'insights', 'fork']) expect(names).not.toContain(name)
  })

  it('keeps what changes a shared conversation for admins', () => {
    const shared = { ...guest, isOwnConversation: false }
    for (const name of ['new', 'undo', 'model', 'resume', 'verbose']) expect(namesFor(shared)).not.toContain(name)
    expect(namesFor({ ...shared, isAdmin: true })).toEqual(table.map(({ name }) => name))
  })

  it('limits people to the listed commands, besides /help and /whoami', () => {
    expect(namesFor({ ...guest, allowed: ['status'] })).toEqual(['help', 'status', 'whoami', 'start'])
    expect(namesFor({ ...guest, allowed: [] })).toEqual(['help', 'whoami', 'start'])
  })

  it('lets operators set the home, unless the list leaves it out', () => {
    expect(namesFor({ ...guest, isOperator: true })).toContain('sethome')
    expect(namesFor({ ...guest, isOperator: true, allowed: ['status'] })).not.toContain('sethome')
  })

  it('lets people read where their scopes do', () => {
    expect(namesFor({ ...guest, scopes: ['chat', 'read'] })).toContain('insights')
  })
})
