/** Tests that all objects of a deployment are in the jurisdiction that it names. */

import { expect, it } from 'vitest'
import { inJurisdiction } from '#durable/platform/jurisdiction.ts'

type Bindings = Parameters<typeof inJurisdiction>[0]

const namespace = (name: string) => ({ name, jurisdiction: (area: string) => `${name} in ${area}` })
const given = { SESSION: namespace('sessions'), TENANT: namespace('tenants'), BLOBS: 'bucket' }
const environment = (more: object) => ({ ...given, ...more }) as unknown as Bindings

it('restricts the namespaces and keeps all other bindings', () => {
  expect(inJurisdiction(environment({ JURISDICTION: 'eu', CONNECTION: namespace('connections') }))).toEqual({
    JURISDICTION: 'eu',
    SESSION: 'sessions in eu',
    TENANT: 'tenants in eu',
    CONNECTION: 'connections in eu',
    BLOBS: 'bucket',
  })
})

it('does not add a binding that the deployment lacks', () =>
  expect(Object.keys(inJurisdiction(environment({ JURISDICTION: 'us' })))).not.toContain('CONNECTION'))

it('changes nothing without a jurisdiction', () => {
  const env = environment({})
  expect(inJurisdiction(env)).toBe(env)
})
