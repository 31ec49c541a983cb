/** States how Discord's REST API is called, and what its failures mean. */

import { defineApi } from '../kit/api.ts'

const unknownMessage = 10_008
const invalidForm = 50_035
const fileTooLarge = 40_005

export const callDiscord = defineApi({
  commonHeaders: { 'user-agent': 'DiscordBot (https://github.com/talaria, 1)' },
  headers: ({ secrets }) => ({ authorization: `Bot ${secrets['bot_token'] ?? ''}` }),
  readFailure: ({ code, message, retry_after: waitSeconds, errors }) => ({
    ...(typeof code === 'number' && { code }),
    ...(typeof message === 'string' && { message }),
    details: JSON.stringify(errors ?? ''),
    waitSeconds,
  }),
  outcomes: [
    { codes: [unknownMessage], is: 'gone' },
    { codes: [fileTooLarge], is: 'too_long' },
    { codes: [invalidForm], words: /BASE_TYPE_MAX_LENGTH/, is: 'too_long' },
  ],
})
