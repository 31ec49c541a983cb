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
        'Schreiben Sie in Telegram /newbot an @BotFather und wählen Sie einen Namen.',
        'Kopieren Sie das Token nach bot_token. Der Webhook wird für Sie eingetragen.',
      ],
    },
  },
  slack: {
    secrets: ['bot_token', 'signing_secret'],
    steps: {
      en: [
        'Create an app at api.slack.com/apps, add the scopes of docs/slack.md and install it.',
        'Copy the bot token (xoxb-…) and the signing secret.',
        'Afterwards enter the webhook address under Event Subscriptions and Interactivity.',
      ],
      de: [
        'Legen Sie unter api.slack.com/apps eine App an, geben Sie ihr die Rechte aus docs/slack.md und installieren Sie sie.',
        'Kopieren Sie Bot-Token (xoxb-…) und Signing Secret.',
        'Tragen Sie danach die Webhook-Adresse unter Event Subscriptions und Interactivity ein.',
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
        'Legen Sie unter discord.com/developers eine Anwendung und darin einen Bot an. Erlauben Sie ihm, Nachrichteninhalte zu lesen.',
        'Kopieren Sie Token, Public Key und Application ID.',
        'Laden Sie den Bot mit dem Link der Seite OAuth2 auf Ihren Server ein.',
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
        'Legen Sie unter developers.facebook.com eine Business-App an und fügen Sie WhatsApp hinzu.',
        'Kopieren Sie ein dauerhaftes Token, das App Secret und die ID der Telefonnummer. Wählen Sie ein eigenes Verify Token.',
        'Tragen Sie danach Webhook-Adresse und Verify Token ein und abonnieren Sie messages.',
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
        'Kopieren Sie in der Twilio-Konsole Account SID, Auth Token und die sendende Nummer.',
        'Tragen Sie danach die Webhook-Adresse bei der Nummer für eingehende Nachrichten ein.',
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
        'Ihre Domain liegt bei Cloudflare, Email Routing ist eingeschaltet.',
        'Wählen Sie eine Adresse des Agenten und leiten Sie sie an diesen Worker.',
      ],
    },
  },
}

export const platforms = Object.keys(guides)
