/** Implements the channel port for RCS through Twilio. */

import type { Channel } from '../channel.ts'
import { defineDialect } from '../kit/dialect.ts'
import { createTwilioChannel, roomyTextChars } from './twilio-channel.ts'

const { render, textLimit } = defineDialect({ max: roomyTextChars, unit: 'utf16' })

export const rcs: Channel = createTwilioChannel({
  platform: 'rcs',
  name: 'RCS',
  prefix: 'rcs:',
  // A messaging service falls back to SMS, and people then answer by SMS.
  accepts: ['rcs:', ''],
  from: {
    shape: /^[A-Za-z0-9_.-]{1,100}$/,
    hint: 'The RCS sender without "rcs:", like brand_agent, or the SID of a messaging service.',
  },
  hasSubscriptions: true,
  isRegistered: false,
  capabilities: {},
  textLimit,
  render,
})
