/** The steps of each platform and the fields that its connection needs, in the languages of the page. */

export type Guide = {
  readonly secrets: readonly string[]
  /** Generated when it is empty. */
  readonly optional?: readonly string[]
  readonly needsAddress?: boolean
  readonly steps: { readonly en: readonly string[]; readonly de: readonly string[] }
}

export const guides: Readonly<Record<string, Guide>> = {
  telegram: {
    secrets: ['bot_token', 'webhook_secret'],
    optional: ['webhook_secret'],
    steps: {
      en: [
        'In Telegram, write /newbot to @BotFather and choose a name.',
        'Copy the token into bot_token. The webhook is registered for you.',
      ],
      de: [
        'Schreib in Telegram /newbot an @BotFather und wähle einen Namen.',
        'Kopiere das Token nach bot_token. Der Webhook wird für dich eingetragen.',
      ],
    },
  },
  slack: {
    secrets: ['bot_token', 'signing_secret'],
    steps: {
      en: [
        'Create an app at api.slack.com/apps, add the scopes of the guide and install it.',
        'Copy the bot token (xoxb-…) and the signing secret.',
        'Afterwards enter the webhook address under Event Subscriptions and Interactivity.',
      ],
      de: [
        'Lege unter api.slack.com/apps eine App an, gib ihr die Rechte aus der Anleitung und installiere sie.',
        'Kopiere Bot-Token (xoxb-…) und Signing Secret.',
        'Trage danach die Webhook-Adresse unter Event Subscriptions und Interactivity ein.',
      ],
    },
  },
  discord: {
    secrets: ['bot_token', 'public_key', 'application_id'],
    steps: {
      en: [
        'Create an application at discord.com/developers and a bot in it. Allow it to read message content.',
        'Copy token, public key and application id.',
        'Invite the bot to your server with the link of the page OAuth2.',
      ],
      de: [
        'Lege unter discord.com/developers eine Anwendung und darin einen Bot an. Erlaube ihm, Nachrichteninhalte zu lesen.',
        'Kopiere Token, Public Key und Application ID.',
        'Lade den Bot mit dem Link der Seite OAuth2 auf deinen Server ein.',
      ],
    },
  },
  whatsapp: {
    secrets: ['access_token', 'app_secret', 'verify_token', 'phone_number_id'],
    steps: {
      en: [
        'Create a business app at developers.facebook.com and add WhatsApp.',
        'Copy a permanent token, the app secret and the id of the phone number. Choose a verify token of your own.',
        'Afterwards enter the webhook address and the verify token, and subscribe to messages.',
      ],
      de: [
        'Lege unter developers.facebook.com eine Business-App an und füge WhatsApp hinzu.',
        'Kopiere ein dauerhaftes Token, das App Secret und die ID der Telefonnummer. Wähle ein eigenes Verify Token.',
        'Trage danach Webhook-Adresse und Verify Token ein und abonniere messages.',
      ],
    },
  },
  sms: {
    secrets: 'from account_sid auth_token'.split(' '),
    steps: {
      en: [
        'In the Twilio console, copy account SID and auth token, and the number that sends.',
        'Afterwards enter the webhook address at the number, for incoming messages.',
      ],
      de: [
        'Kopiere in der Twilio-Konsole Account SID, Auth Token und die sendende Nummer.',
        'Trage danach die Webhook-Adresse bei der Nummer für eingehende Nachrichten ein.',
      ],
    },
  },
  email: {
    secrets: [],
    needsAddress: true,
    steps: {
      en: [
        'Your domain must be at Cloudflare with Email Routing on.',
        'Choose an address of the agent and route it to this worker.',
      ],
      de: [
        'Deine Domain liegt bei Cloudflare, Email Routing ist eingeschaltet.',
        'Wähle eine Adresse des Agenten und leite sie an diesen Worker.',
      ],
    },
  },
}

export const platforms = Object.keys(guides)
