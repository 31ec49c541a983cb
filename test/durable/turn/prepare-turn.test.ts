import { describe, expect, it } from 'vitest'
import { createLayer } from '#agent/prompt/layers.ts'
import { createMetadata } from '#durable/storage/session-metadata.ts'
import { prepareTurn, rebuildPrompt } from '#durable/turn/prepare-turn.ts'
import type { PromptPart } from '#durable/turn/prompt/prompt-part.ts'
import { ownerAuthority } from '../../support/authority.ts'
import type { TurnSession } from '#durable/turn/turn-session.ts'

const meta = createMetadata({ id: 'ses_1', tenantId: 'acme' }, {}, { owner: 'key:admin', now: 5 })

type Change = Omit<Partial<TurnSession>, 'journal'> & { readonly journal?: { readonly isBlank: boolean } }

const session = (change: Change = {}): TurnSession =>
  ({
    tenantId: 'acme',
    meta,
    settings: {},
    journal: { isBlank: true },
    toolRuntime: {
      backend: { describe: () => 'a small machine' },
      toolbox: () => new Map(),
    },
    promptMaterial: () => undefined,
    promptModel: () => undefined,
    hasReadableFiles: () => false,
    redact: (text: string) => text,
    asker: () => ownerAuthority('acme'),
    profileOf: async () => [],
    ...change,
  }) as unknown as TurnSession

/** A part that another object holds, as memory is. */
const memory: PromptPart = async ({ session: { tenantId } }) => {
  await scheduler.wait(1)
  return createLayer('memory', `Facts about ${tenantId}.`)
}
const identity: PromptPart = () => createLayer('identity', 'You are a test.')

describe('preparing the first turn', () => {
  it('builds the prompt at once when no part waits', () => {
    expect(prepareTurn(session(), { parts: [identity] })).toEqual({
      prompt: 'You are a test.',
      promptRecord: {
        layers: [{ name: 'identity', tier: 'stable', tokens: 4, budget: 20_000, isTruncated: false }],
        builtAt: expect.any(Number) as number,
        marks: {},
      },
    })
  })

  it('builds the prompt of a session without material and files at once', () => {
    const prepared = prepareTurn(session())
    expect(prepared).not.toBeInstanceOf(Promise)
    expect(prepared).toHaveProperty('prompt', expect.stringContaining('You are Talaria'))
  })

  it('waits for parts of other objects and keeps the order of layers', async () => {
    const parts: readonly PromptPart[] = [memory, identity, () => undefined, async () => createLayer('skills', '')]
    const preparing = prepareTurn(session(), { parts })
    expect(preparing).toBeInstanceOf(Promise)
    expect(await preparing).toHaveProperty('prompt', 'You are a test.\n\nFacts about acme.')
  })

  it('waits for the promise of an RPC call, which is no Promise', async () => {
    const thenable = {
      // oxlint-disable-next-line unicorn/no-thenable -- the promise of an RPC call is such an object
      then: (resolve: (value: unknown) => void) => resolve(createLayer('user', 'From another object.')),
    }
    const part: PromptPart = () => thenable as unknown as ReturnType<PromptPart>
    expect(await prepareTurn(session(), { parts: [part] })).toHaveProperty('prompt', 'From another object.')
  })

  it('gives the parts the material of the tenant and stores its version', async () => {
    const part: PromptPart = ({ material }) => createLayer('user', `Version ${material.version}.`)
    const prepared = await prepareTurn(session({ promptMaterial: async () => ({ version: 7 }) }), { parts: [part] })
    expect(prepared).toMatchObject({ prompt: 'Version 7.', promptRecord: { material: 7 } })
  })

  it('rejects when a part cannot be read: the turn does not start without it', async () => {
    const broken: PromptPart = async () => {
      throw new Error('The tenant cannot be reached.')
    }
    await expect(prepareTurn(session(), { parts: [broken] })).rejects.toThrow('The tenant cannot be reached.')
  })

  it('prepares nothing for a session whose prompt is stored', () => {
    const stored = session({ meta: { ...meta, prompt: 'Stored.' }, journal: { isBlank: false } })
    expect(prepareTurn(stored, { parts: [memory] })).toEqual({})
  })

  it('keeps a prompt that was copied but is not stored yet', () => {
    const copied = session({ meta: { ...meta, prompt: 'Copied.' } })
    expect(prepareTurn(copied, { parts: [memory] })).toEqual({ prompt: 'Copied.' })
  })
})

describe('rebuilding the prompt', () => {
  const changed = (change: Change) => {
    const rebuilt: TurnSession = {
      ...session(change),
      exists: true,
      updateMeta: (update) => Object.assign(rebuilt, { meta: { ...rebuilt.meta, ...update } }),
    }
    return rebuilt
  }

  it('replaces the stored prompt and says whether it differs', async () => {
    const stored = changed({ meta: { ...meta, prompt: 'Old.' }, journal: { isBlank: false } })
    expect(await rebuildPrompt(stored)).toBe(true)
    expect(stored.meta.prompt).toContain('You are Talaria')
    expect(await rebuildPrompt(stored)).toBe(false)
  })

  it('leaves a session without a prompt to its first turn', async () => {
    const fresh = changed({})
    expect(await rebuildPrompt(fresh)).toBe(false)
    expect(fresh.meta.prompt).toBeUndefined()
  })
})
