/** The secrets that each platform needs. A platform that this deployment does not have is refused with its name. */

const fields: Readonly<Record<string, readonly string[]>> = {
  telegram: ['bot_token', 'webhook_secret'],
  slack: ['bot_token', 'signing_secret'],
  discord: ['bot_token', 'public_key', 'application_id'],
  whatsapp: ['access_token', 'app_secret', 'verify_token', 'phone_number_id'],
  sms: ['account_sid', 'auth_token', 'from'],
}

export const platforms = Object.keys(fields)
export const platformFields = (platform: string): readonly string[] => fields[platform] ?? []
