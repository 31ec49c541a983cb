import { describe, expect, it } from 'vitest'
import { isToolVendor, resolveVendor } from '#agent/routing/tool-vendors.ts'

const tenantKeys = (id: string) => (id === 'tavily' ? [{ id: 'own', key: 'tenant-key' }] : [])

describe('a vendor of tools', () => {
  it('is called at its own address, without a key when nobody has one', () => {
    expect(resolveVendor('tavily', { variables: {} })).toMatchObject({
      baseUrl: 'https://api.tavily.com',
      isReplaced: false,
      keys: [],
      variable: 'TAVILY_API_KEY',
    })
  })

  it('takes keys and the address from variables of the deployment', () => {
    const variables = { EXA_API_KEY: ' one, two ,', EXA_BASE_URL: 'http://127.0.0.1:9000/exa//' }
    expect(resolveVendor('exa', { variables })).toMatchObject({
      baseUrl: 'http://127.0.0.1:9000/exa',
      isReplaced: true,
      keys: ['one', 'two'],
      paidBy: 'deployment',
    })
  })

  it('takes the keys of the tenant before those of the deployment, and never both', () => {
    const variables = { TAVILY_API_KEY: 'deployment-key' }
    expect(resolveVendor('tavily', { variables, tenantKeys })).toMatchObject({ keys: ['tenant-key'], paidBy: 'tenant' })
  })

  it('may have an address in place of a key', () => {
    expect(resolveVendor('searxng', { variables: {} })).toMatchObject({
      baseUrl: '',
      keys: [],
      variable: 'SEARXNG_URL',
    })
    expect(isToolVendor('searxng')).toBe(false)
    expect(resolveVendor('searxng', { variables: { SEARXNG_URL: 'http://search.lan/' } }).baseUrl).toBe(
      'http://search.lan',
    )
  })

  it('is a provider of models where it has the same name', () => {
    const variables = { OPENAI_API_KEY: 'key' }
    expect(resolveVendor('openai', { variables })).toMatchObject({
      baseUrl: 'https://api.openai.com/v1',
      keys: ['key'],
    })
    expect(resolveVendor('nobody', { variables })).toMatchObject({ baseUrl: '', keys: [] })
  })
})
