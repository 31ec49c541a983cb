/** Tests the resolver of `npm start`: it answers with the addresses that this host would connect to. */

import { expect, it } from 'vitest'
import { startResolver } from '../../scripts/lib/local-resolver.mjs'

const resolve = async (name: string, type: string) => {
  const response = await fetch(`${await startResolver()}?name=${name}&type=${type}`)
  return (await response.json()) as { readonly Answer: readonly { readonly type: number; readonly data: string }[] }
}

it('resolves names of this host', async () => {
  expect((await resolve('localhost', 'A')).Answer).toContainEqual({ type: 1, data: '127.0.0.1' })
})

it('has no addresses for a name that does not exist', async () => {
  expect((await resolve('missing.invalid', 'AAAA')).Answer).toEqual([])
})
