/** Implements the channel port for WhatsApp through Twilio. */

import type { Channel } from '../channel.ts'
import { defineDialect } from '../kit/dialect.ts'
import { whatsappMarks } from '../whatsapp/whatsapp-marks.ts'
import { createTwilioChannel, roomyTextChars } from './twilio-channel.ts'

const { encode, render, textLimit } = defineDialect({ max: roomyTextChars, unit: 'utf16', marks: whatsappMarks })

export const twilioWhatsapp: Channel = createTwilioChannel({
  platform: 'twilio_whatsapp',
  name: 'WhatsApp (Twilio)',
  prefix: 'whatsapp:',
  accepts: ['whatsapp:'],
  from: {
    shape: /^(\+\d{5,20}|MG[A-Za-z0-9]{1,64})$/,
    hint: 'The WhatsApp number that sends, like +15550001111, or the SID of a messaging service.',
  },
  // Words like "stop" are ordinary messages on WhatsApp, unless Twilio says that one of them unsubscribed.
  hasSubscriptions: false,
  isRegistered: false,
  capabilities: { replyWindowMs: 24 * 3_600_000 },
  textLimit,
  render,
  encode,
})
