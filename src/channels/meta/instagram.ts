/** States what Instagram has of its own among Meta's platforms. */

import type { Channel } from '../channel.ts'
import { createMetaChannel } from './meta-channel.ts'

export const instagram: Channel = createMetaChannel({
  platform: 'instagram',
  name: 'Instagram',
  apiBase: { variable: 'INSTAGRAM_API_BASE', url: 'https://graph.instagram.com' },
  object: 'instagram',
  token: {
    secret: 'access_token',
    shape: /^[\x21-\x7e]{1,1000}$/,
    hint: 'The access token of the professional account, with instagram_business_manage_messages.',
  },
  account: { secret: 'account_id', shape: /^\d{1,30}$/, hint: 'The id of the Instagram account: a number.' },
  // Instagram accepts 1000 bytes.
  text: { max: 880, unit: 'utf8' },
  accountFields: ['user_id', 'username'],
  hasMessagingType: false,
  hasTyping: false,
})
