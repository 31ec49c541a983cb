/** Defines a generic webhook: who may call it, which events count, and what happens with them. */

import * as z from 'zod'

const signatureKinds = ['github', 'gitlab', 'standard', 'talaria'] as const
export type SignatureKind = (typeof signatureKinds)[number]

const field = z.string().trim().min(1).max(200).describe('A path in the payload, like `pull_request.base.ref`.')
const value = z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()])

const filter = z
  .strictObject({
    field,
    equals: value.optional(),
    not_equals: value.optional(),
    contains: z.string().min(1).max(1_000).optional(),
    exists: z.boolean().optional(),
  })
  .refine(({ field: _field, ...tests }) => Object.values(tests).some((test) => test !== undefined), {
    message: 'A filter needs equals, not_equals, contains or exists.',
  })
export type Filter = z.infer<typeof filter>

export const webhookFields = {
  name: z.string().trim().min(1).max(200),
  signature: z.enum(signatureKinds),
  secret: z
    .string()
    .min(16)
    .max(500)
    .describe('At least 16 characters. For `standard` the base64 secret, like whsec_….'),
  prompt: z
    .string()
    .max(20_000)
    .nullable()
    .describe('The message of the turn. `{a.b}` is filled from the payload, `{__raw__}` with all of it.'),
  events: z.array(z.string().min(1).max(200)).max(100).nullable().describe('The events that count. null: all.'),
  filters: z.array(filter).max(50).describe('All of them must hold.'),
  deliver: z
    .string()
    .min(1)
    .max(400)
    .nullable()
    .describe('The chat that gets the answer: platform:chat[:thread], or a platform with a home chat. null: nowhere.'),
  deliver_only: z.boolean().describe('The filled prompt is sent to `deliver` as it is, without a model.'),
  job: z.string().min(1).max(200).nullable().describe('A job that runs instead of a turn, by its id or name.'),
}

/** The fields that are stored besides name and secret. */
export const webhookSettings = z.object({
  signature: webhookFields.signature,
  prompt: webhookFields.prompt.default(null),
  events: webhookFields.events.default(null),
  filters: webhookFields.filters.default([]),
  deliver: webhookFields.deliver.default(null),
  deliver_only: webhookFields.deliver_only.default(false),
  job: webhookFields.job.default(null),
})
export type WebhookSettings = z.infer<typeof webhookSettings>
