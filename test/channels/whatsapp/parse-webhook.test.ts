import { describe, expect, it } from 'vitest'
import { parseWebhook } from '#channels/whatsapp/parse-webhook.ts'

const number = '111'
const parse = (fields: object) => {
  const message = { from: '4915', id: 'wamid.1', timestamp: '1', type: 'text', ...fields }
  const value = { metadata: { phone_number_id: number }, messages: [message] }
  const body = { object: 'whatsapp_business_account', entry: [{ changes: [{ field: 'messages', value }] }] }
  return parseWebhook(body, number)[0] as { readonly text?: string; readonly media?: readonly object[] } | undefined
}
const text = { body: 'hi' }

describe('the text of a message of WhatsApp', () => {
  it.each([
    ['a text', { text }, 'hi'],
    ['a forwarded text', { text, context: { forwarded: true } }, '[Forwarded:]\nhi'],
    ['a text that was forwarded often', { text, context: { frequently_forwarded: true } }, '[Forwarded:]\nhi'],
    ['an answer, which is not forwarded', { text, context: { id: 'wamid.0', from: '49', forwarded: false } }, 'hi'],
    [
      'a contact',
      {
        type: 'contacts',
        contacts: [
          {
            name: { formatted_name: 'Bob Test' },
            phones: [{ phone: '+1 555 010 0000' }],
            emails: [{ email: 'b@c.example' }],
          },
        ],
      },
      '[contact: Bob Test, +1 555 010 0000, b@c.example]',
    ],
    [
      'two contacts',
      { type: 'contacts', contacts: [{ phones: [{ phone: '1' }] }, { phones: [{ phone: '2' }] }] },
      '[contact: 1]\n[contact: 2]',
    ],
    [
      'a form',
      {
        type: 'interactive',
        interactive: {
          type: 'nfm_reply',
          nfm_reply: { body: 'Sent', response_json: '{"rating":"good","flow_token":"x","n":[1]}' },
        },
      },
      '[form: rating: good, n: (1)]',
    ],
    [
      'a form that is no JSON',
      { type: 'interactive', interactive: { nfm_reply: { body: 'Sent', response_json: 'x' } } },
      '[form: Sent]',
    ],
    [
      'a location',
      { type: 'location', location: { latitude: 1.25, longitude: 3.5, name: 'Cafe', address: 'Main street 5' } },
      '[location: Cafe, Main street 5, 1.25, 3.5]',
    ],
    [
      'an order',
      {
        type: 'order',
        order: {
          text: 'please deliver',
          product_items: [{ product_retailer_id: 'sku1', quantity: 2, item_price: 3, currency: 'EUR' }],
        },
      },
      'please deliver\n[order: 2 × sku1 at 3 EUR]',
    ],
    [
      'a product',
      { text, context: { id: 'wamid.0', referred_product: { catalog_id: 'c1', product_retailer_id: 'sku1' } } },
      'hi\n[about the product: sku1, c1]',
    ],
    [
      'an advertisement',
      { text, referral: { headline: 'Sale', body: 'All half', source_url: 'https://a.example/' } },
      'hi\n[from the advertisement: Sale, All half, https://a.example/]',
    ],
    [
      'an unsupported kind',
      { type: 'unsupported', errors: [{ code: 131_051 }] },
      '[a message of a kind that cannot be read here]',
    ],
  ])('has %s', (_name, fields, expected) => {
    expect(parse(fields)?.text).toBe(expected)
  })

  it.each([['reaction'], ['system']])('is missing for the type %s, which nobody has written', (type) => {
    expect(parse({ type })).toBe(undefined)
  })

  it('marks a forwarded file', () => {
    const image = { id: 'f', mime_type: 'image/png' }
    expect(parse({ type: 'image', image, context: { forwarded: true } })).toMatchObject({
      text: '[Forwarded:]\n',
      media: [{ reference: 'f' }],
    })
  })
})
