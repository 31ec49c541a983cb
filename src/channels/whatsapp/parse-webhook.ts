/** Parses the webhooks of the WhatsApp Cloud API: batches of messages and statuses. */

import * as z from 'zod'
import type { MediaKind, MediaReference } from '#agent/core/media/media-reference.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import type { InboundEvent, Quote, Sender } from '../channel.ts'
import { describeContent, describeForward, unreadable } from '../text/describe-forward.ts'
import { classifyReport } from '../kit/api.ts'
import { listGraphOutcomes } from '../meta/graph-api.ts'

export const whatsappOutcomes = listGraphOutcomes('WhatsApp')

const media = z.object({
  id: z.string(),
  mime_type: z.string().optional(),
  filename: z.string().optional(),
  caption: z.string().optional(),
  voice: z.boolean().optional(),
})
const reply = z.object({ id: z.string(), title: z.string().optional() })
const message = z.object({
  from: z.string().optional(),
  /** The id of a person within the business, for people whose number is hidden. */
  from_user_id: z.string().optional(),
  group_id: z.string().optional(),
  id: z.string(),
  type: z.string(),
  text: z.object({ body: z.string() }).optional(),
  image: media.optional(),
  audio: media.optional(),
  video: media.optional(),
  document: media.optional(),
  sticker: media.optional(),
  interactive: z
    .object({
      button_reply: reply.optional(),
      list_reply: reply.optional(),
      nfm_reply: z.object({ body: z.string().optional(), response_json: z.string().optional() }).optional(),
    })
    .optional(),
  button: z.object({ text: z.string().optional(), payload: z.string().optional() }).optional(),
  location: z
    .object({
      latitude: z.number(),
      longitude: z.number(),
      name: z.string().optional(),
      address: z.string().optional(),
    })
    .optional(),
  contacts: z
    .array(
      z.object({
        name: z.object({ formatted_name: z.string().optional() }).optional(),
        phones: z.array(z.object({ phone: z.string().optional() })).default([]),
        emails: z.array(z.object({ email: z.string().optional() })).default([]),
        org: z.object({ company: z.string().optional() }).optional(),
      }),
    )
    .optional()
    .catch(undefined),
  order: z
    .object({
      text: z.string().optional(),
      product_items: z
        .array(
          z.object({
            product_retailer_id: z.string().optional(),
            quantity: z.coerce.number().optional(),
            item_price: z.coerce.number().optional(),
            currency: z.string().optional(),
          }),
        )
        .default([]),
    })
    .optional()
    .catch(undefined),
  /** The advertisement from which the person began the chat. */
  referral: z
    .object({ headline: z.string().optional(), body: z.string().optional(), source_url: z.string().optional() })
    .optional()
    .catch(undefined),
  system: z
    .object({ type: z.string().optional(), wa_id: z.string().optional(), new_wa_id: z.string().optional() })
    .optional(),
  context: z
    .object({
      id: z.string().optional(),
      from: z.string().optional(),
      forwarded: z.boolean().optional(),
      frequently_forwarded: z.boolean().optional(),
      /** The product about which the person asks. */
      referred_product: z
        .object({ catalog_id: z.string().optional(), product_retailer_id: z.string().optional() })
        .optional()
        .catch(undefined),
    })
    .optional(),
})
type WhatsAppMessage = z.infer<typeof message>
const contact = z.object({
  wa_id: z.string().optional(),
  user_id: z.string().optional(),
  profile: z.object({ name: z.string().optional() }).optional(),
})
type Contact = z.infer<typeof contact>
const status = z.object({
  id: z.string(),
  status: z.string(),
  recipient_id: z.string().optional(),
  recipient_user_id: z.string().optional(),
  errors: z
    .array(z.object({ code: z.number(), title: z.string().optional(), message: z.string().optional() }))
    .optional(),
})
const value = z.object({
  metadata: z.object({ phone_number_id: z.string(), display_phone_number: z.string().optional() }),
  contacts: z.array(z.unknown()).default([]),
  messages: z.array(z.unknown()).default([]),
  statuses: z.array(z.unknown()).default([]),
})
const webhook = z.object({
  object: z.literal('whatsapp_business_account'),
  entry: z.array(z.object({ changes: z.array(z.object({ field: z.string(), value: z.unknown() })) })),
})

/** Events of other numbers of the same app belong to other connections. */
export function parseWebhook(body: unknown, phoneNumberId: string): readonly InboundEvent[] {
  const parsed = webhook.safeParse(body)
  if (!parsed.success) return []
  const changes = parsed.data.entry.flatMap((entry) => entry.changes)
  return changes.flatMap(({ field, value: content }) => {
    const change = value.safeParse(content)
    if (field !== 'messages' || !change.success) return []
    const { metadata, contacts, messages, statuses } = change.data
    if (metadata.phone_number_id !== phoneNumberId) return []
    const people = parseList(contact, contacts)
    return [
      ...parseList(message, messages).flatMap(
        (sent) => parseMessage(sent, people, metadata.display_phone_number) ?? [],
      ),
      ...parseList(status, statuses).flatMap((one) => parseStatus(one) ?? []),
    ]
  })
}

/** One unknown element does not hide the others. */
function parseList<T>(schema: z.ZodType<T>, values: readonly unknown[]): readonly T[] {
  return values.flatMap((one) => {
    const parsed = schema.safeParse(one)
    return parsed.success ? [parsed.data] : []
  })
}

function parseMessage(
  sent: WhatsAppMessage,
  people: readonly Contact[],
  number: string | undefined,
): InboundEvent | undefined {
  const sender = parseSender(sent, people)
  if (!sender) return undefined
  const { id, group_id: group, interactive, context } = sent
  const source = { key: id, address: { chat: group ?? sender.id }, isGroup: group !== undefined, sender }
  const pressed = interactive?.button_reply ?? interactive?.list_reply
  if (pressed) return { ...source, kind: 'press', pressId: id, messageId: context?.id ?? '', data: pressed.id }
  const moved = newNumberOf(sent)
  if (moved !== undefined) return { ...source, kind: 'lifecycle', change: 'moved', to: moved }
  const content = parseContent(sent, number)
  return content && { ...source, kind: 'message', ...content }
}

/** Kinds of events that say nothing to the agent. Others are messages, also those of kinds that are not known yet. */
const silentTypes = new Set(['reaction', 'system', 'request_welcome', 'revoke'])

function parseContent(sent: WhatsAppMessage, number: string | undefined) {
  const text = parseText(sent)
  const files = parseMedia(sent)
  const isEmpty = !text.trim() && !files.length
  if (isEmpty && silentTypes.has(sent.type)) return undefined
  const quote = parseQuote(sent)
  const mentions = mentionsIn(text, number)
  return { messageId: sent.id, text: isEmpty ? unreadable : text, media: files, mentions, ...(quote && { quote }) }
}

/** A person has a new number. */
const newNumberOf = ({ system }: WhatsAppMessage): string | undefined =>
  system?.new_wa_id ?? (system?.type === 'user_changed_number' ? system.wa_id : undefined)

/** The number identifies a person, if WhatsApp tells it. Its other id then is an alias. */
function parseSender({ from, from_user_id: userId }: WhatsAppMessage, people: readonly Contact[]): Sender | undefined {
  const isSame = (one: Contact) => (from ? one.wa_id === from : userId !== undefined && one.user_id === userId)
  const person = people.find(isSame) ?? (people.length === 1 ? people[0] : undefined)
  const [id, ...aliases] = [from ?? person?.wa_id, userId ?? person?.user_id].flatMap((one) => one || [])
  if (id === undefined) return undefined
  return { id, name: person?.profile?.name || id, aliases }
}

const mediaTypes = ['image', 'audio', 'video', 'document', 'sticker'] as const

/** Content that is neither text nor a file stands in brackets. */
function parseText(sent: WhatsAppMessage): string {
  const { context, referral, type } = sent
  const product = context?.referred_product
  const notes = [
    type === 'unsupported' || type === 'unknown' ? unreadable : undefined,
    product && describeContent('about the product', product.product_retailer_id, product.catalog_id),
    referral && describeContent('from the advertisement', referral.headline, referral.body, referral.source_url),
  ]
  const text = [writtenText(sent), ...notes].filter(Boolean).join('\n')
  const isForwarded = context?.forwarded === true || context?.frequently_forwarded === true
  return isForwarded && (text || parseMedia(sent).length > 0) ? describeForward(text) : text
}

function writtenText(sent: WhatsAppMessage): string {
  const { text, location, button, contacts, order, interactive } = sent
  if (text) return text.body
  if (button) return button.text ?? ''
  if (location)
    return describeContent('location', location.name, location.address, location.latitude, location.longitude)
  if (contacts) return contacts.map(describeContact).join('\n')
  if (order)
    return [order.text, describeContent('order', ...order.product_items.map(describeItem))].filter(Boolean).join('\n')
  if (interactive?.nfm_reply) return describeForm(interactive.nfm_reply)
  return mediaTypes.flatMap((type) => sent[type]?.caption ?? []).join('\n')
}

type ContactCard = NonNullable<WhatsAppMessage['contacts']>[number]

const describeContact = ({ name, phones, emails, org }: ContactCard): string =>
  describeContent(
    'contact',
    name?.formatted_name,
    ...phones.map(({ phone }) => phone),
    ...emails.map(({ email }) => email),
    org?.company,
  )

type OrderItem = NonNullable<WhatsAppMessage['order']>['product_items'][number]

const describeItem = ({ quantity, product_retailer_id: product, item_price: price, currency }: OrderItem): string =>
  [`${quantity ?? 1} × ${product ?? 'a product'}`, price !== undefined && `at ${price} ${currency ?? ''}`.trim()]
    .filter(Boolean)
    .join(' ')

type FormReply = NonNullable<NonNullable<WhatsAppMessage['interactive']>['nfm_reply']>

/** The answers of a form, without the token of its flow. */
function describeForm({ body, response_json: json = '' }: FormReply): string {
  const values = z.record(z.string(), z.unknown()).safeParse(parseJson(json)).data ?? {}
  const answers = Object.entries(values).flatMap(([name, answer]) =>
    name === 'flow_token' ? [] : `${name}: ${typeof answer === 'string' ? answer : JSON.stringify(answer)}`,
  )
  return describeContent('form', ...(answers.length > 0 ? answers : [body]))
}

function parseMedia(sent: WhatsAppMessage): readonly MediaReference[] {
  return mediaTypes.flatMap((type) => {
    const file = sent[type]
    if (!file) return []
    const kind: MediaKind = type === 'sticker' ? 'image' : type === 'audio' && file.voice ? 'voice' : type
    return [
      {
        kind,
        reference: file.id,
        ...(file.filename !== undefined && { name: file.filename }),
        ...(file.mime_type !== undefined && { mime: file.mime_type }),
      },
    ]
  })
}

/** `context.from` is a number; our own is that of the account. */
function parseQuote({ context, type }: WhatsAppMessage): Quote | undefined {
  if (context?.id === undefined || type === 'interactive') return undefined
  const { id, from } = context
  return { messageId: id, ...(from !== undefined && { sender: { id: from, name: from } }) }
}

/** WhatsApp writes mentions as `@` and a number. */
function mentionsIn(text: string, number: string | undefined): readonly string[] {
  const own = number?.replace(/\D/g, '')
  return own && text.includes(`@${own}`) ? [own] : []
}

/** Only failures matter. The statuses of a message arrive in any order. */
function parseStatus({
  id,
  status: state,
  recipient_id: number,
  recipient_user_id: userId,
  errors,
}: z.infer<typeof status>) {
  const [recipient, ...aliases] = [number, userId].flatMap((one) => one || [])
  if (state !== 'failed' || !recipient) return undefined
  const [error] = errors ?? []
  const detail = error ? `${error.code}${error.title ? `: ${error.title}` : ''}` : 'the message was not delivered'
  return {
    kind: 'lifecycle',
    change: 'not-delivered',
    key: `${id}:failed`,
    address: { chat: recipient },
    isGroup: false,
    sender: { id: recipient, name: recipient, aliases },
    messageId: id,
    outcome: classifyReport(whatsappOutcomes, { code: error?.code }, detail),
  } as const satisfies InboundEvent
}
