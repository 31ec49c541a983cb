import { describe, expect, it } from 'vitest'
import { createMetadata } from '../../../src/durable/storage/session-metadata.ts'
import { type PreparedSession, prepareTurn, type PromptPart } from '../../../src/durable/turn/prepare-turn.ts'

const meta = createMetadata({ id: 'ses_1', tenantId: 'acme' }, {}, 5)

const session = (change: Partial<PreparedSession> = {}): PreparedSession => ({
  tenantId: 'acme',
  meta,
  settings: {},
  journal: { isBlank: true },
  toolRuntime: { systemPrompt: (_settings, createdAt) => `You are Talaria. Created at ${createdAt}.` },
  ...change,
})

/** The next case: a part that another object holds, as memory will be. */
const memory: PromptPart = async ({ tenantId }) => {
  await scheduler.wait(1)
  return `Facts about ${tenantId}.`
}

describe('preparing the first turn', () => {
  it('builds the prompt at once when no part waits', () => {
    expect(prepareTurn(session())).toEqual({ prompt: 'You are Talaria. Created at 5.' })
  })

  it('waits for parts of other objects and keeps their order', async () => {
    const parts: readonly PromptPart[] = [memory, () => 'Skills.', () => undefined, async () => '']
    const preparing = prepareTurn(session(), parts)
    expect(preparing).toBeInstanceOf(Promise)
    expect(await preparing).toEqual({ prompt: 'Facts about acme.\n\nSkills.' })
  })

  it('waits for the promise of an RPC call, which is no Promise', async () => {
    // oxlint-disable-next-line unicorn/no-thenable -- the promise of an RPC call is such an object
    const thenable = { then: (resolve: (text: string) => void) => resolve('From another object.') }
    expect(await prepareTurn(session(), [() => thenable as Promise<string>])).toEqual({
      prompt: 'From another object.',
    })
  })

  it('rejects when a part cannot be read: the turn does not start without it', async () => {
    const broken: PromptPart = async () => {
      throw new Error('The tenant cannot be reached.')
    }
    await expect(prepareTurn(session(), [broken])).rejects.toThrow('The tenant cannot be reached.')
  })

  it('prepares nothing for a session whose prompt is stored', () => {
    const stored = session({ meta: { ...meta, prompt: 'Stored.' }, journal: { isBlank: false } })
    expect(prepareTurn(stored, [memory])).toEqual({})
  })

  it('keeps a prompt that was copied but is not stored yet', () => {
    expect(prepareTurn(session({ meta: { ...meta, prompt: 'Copied.' } }), [memory])).toEqual({ prompt: 'Copied.' })
  })
})
