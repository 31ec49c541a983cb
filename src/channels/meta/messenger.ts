/** States what Messenger has of its own among Meta's platforms. */

import type { Channel } from '../channel.ts'
import { createMetaChannel } from './meta-channel.ts'

export const messenger: Channel = createMetaChannel({
  platform: 'messenger',
  name: 'Messenger',
  apiBase: { variable: 'MESSENGER_API_BASE', url: 'https://graph.facebook.com' },
  object: 'page',
  token: {
    secret: 'page_access_token',
    shape: /^[\x21-\x7e]{1,1000}$/,
    hint: 'The access token of the page, with pages_messaging and pages_manage_metadata.',
  },
  account: { secret: 'page_id', shape: /^\d{1,30}$/, hint: 'The id of the page: a number.' },
  // Messenger accepts 2000 characters.
  text: { max: 1_900, unit: 'utf16' },
  accountFields: ['id', 'name'],
  hasMessagingType: true,
  hasTyping: true,
})
