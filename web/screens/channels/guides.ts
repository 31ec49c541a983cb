/** The steps of each platform, in the languages of the page. The server says which fields a connection needs. */

type Steps = { readonly en: readonly string[]; readonly de: readonly string[] }

export const steps: Readonly<Record<string, Steps>> = {
  telegram: {
    en: [
      'In Telegram, write /newbot to @BotFather and choose a name.',
      'Copy the token. The webhook is registered for you.',
    ],
    de: [
      'Schreib in Telegram /newbot an @BotFather und wähle einen Namen.',
      'Kopiere das Token. Der Webhook wird für dich eingetragen.',
    ],
  },
  slack: {
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
  discord: {
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
  whatsapp: {
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
  sms: {
    en: [
      'In the Twilio console, copy account SID and auth token, and the number that sends.',
      'Afterwards enter the webhook address at the number, for incoming messages.',
    ],
    de: [
      'Kopiere in der Twilio-Konsole Account SID, Auth Token und die sendende Nummer.',
      'Trage danach die Webhook-Adresse bei der Nummer für eingehende Nachrichten ein.',
    ],
  },
  line: {
    en: [
      'Create a Messaging API channel at developers.line.biz.',
      'Copy the channel secret, and issue a long-lived channel access token. The webhook is registered for you.',
      'Switch on "Use webhook", and switch off the greeting and the automatic answers.',
    ],
    de: [
      'Lege unter developers.line.biz einen Messaging-API-Channel an.',
      'Kopiere das Channel Secret und stelle ein dauerhaftes Channel Access Token aus. Der Webhook wird für dich eingetragen.',
      'Schalte „Use webhook“ ein und die Begrüßung und automatischen Antworten aus.',
    ],
  },
  messenger: {
    en: [
      'Create a business app at developers.facebook.com, add Messenger and connect your page.',
      'Copy the page access token, the app secret and the id of the page. Choose a verify token of your own.',
      'Afterwards enter the webhook address and the verify token under Messenger, Webhooks.',
    ],
    de: [
      'Lege unter developers.facebook.com eine Business-App an, füge Messenger hinzu und verbinde deine Seite.',
      'Kopiere das Seitentoken, das App Secret und die ID der Seite. Wähle ein eigenes Verify Token.',
      'Trage danach Webhook-Adresse und Verify Token unter Messenger, Webhooks ein.',
    ],
  },
  instagram: {
    en: [
      'Create a business app at developers.facebook.com, add Instagram and log in with a professional account.',
      'Copy the access token, the Instagram app secret and the id of the account. Choose a verify token of your own.',
      'Afterwards enter the webhook address and the verify token, and subscribe to messages.',
    ],
    de: [
      'Lege unter developers.facebook.com eine Business-App an, füge Instagram hinzu und melde ein professionelles Konto an.',
      'Kopiere Access Token, das App Secret von Instagram und die ID des Kontos. Wähle ein eigenes Verify Token.',
      'Trage danach Webhook-Adresse und Verify Token ein und abonniere messages.',
    ],
  },
  google_chat: {
    en: [
      'In a Google Cloud project, enable the Google Chat API. Create a service account with a JSON key.',
      'Paste the whole JSON file as the key file, and enter the project number.',
      'Afterwards enter the webhook address in the configuration of the Chat API, as HTTP endpoint URL, with the audience "Project number".',
    ],
    de: [
      'Aktiviere in einem Google-Cloud-Projekt die Google Chat API. Lege ein Dienstkonto mit einem JSON-Schlüssel an.',
      'Füge die ganze JSON-Datei als Schlüsseldatei ein und trage die Projektnummer ein.',
      'Trage danach die Webhook-Adresse in der Konfiguration der Chat API als HTTP-Endpunkt ein, mit der Zielgruppe „Project number“.',
    ],
  },
  matrix: {
    en: [
      'Create an account for the bot on any homeserver, and copy its access token: Element, Settings, Help & About, Advanced.',
      'Enter the address of the homeserver as url. The notifications are registered for you.',
      'Invite the bot into a room without encryption.',
    ],
    de: [
      'Lege auf einem Homeserver ein Konto für den Bot an und kopiere sein Access Token: Element, Einstellungen, Hilfe & Info, Erweitert.',
      'Trage die Adresse des Homeservers als url ein. Die Benachrichtigungen werden für dich eingerichtet.',
      'Lade den Bot in einen Raum ohne Verschlüsselung ein.',
    ],
  },
  teams: {
    en: [
      'In the Azure portal, create an Azure Bot of the type Single Tenant, and a client secret of its application.',
      'Copy application id, secret and tenant id.',
      'Afterwards enter the webhook address as messaging endpoint, add the channel Microsoft Teams, and upload the package of /api/channels/ID/manifest in Teams.',
    ],
    de: [
      'Lege im Azure-Portal einen Azure Bot vom Typ Single Tenant an und in seiner Anwendung ein Client Secret.',
      'Kopiere Anwendungs-ID, Secret und Mandanten-ID.',
      'Trage danach die Webhook-Adresse als Messaging-Endpunkt ein, füge den Kanal Microsoft Teams hinzu und lade das Paket von /api/channels/ID/manifest in Teams hoch.',
    ],
  },
  nextcloud_talk: {
    en: [
      'Choose a secret of 40 characters or more, and enter the address of your Nextcloud as url.',
      'Afterwards run occ talk:bot:install with the secret and the webhook address, as the guide shows.',
      'Switch the bot on in the settings of each room, and allow the room.',
    ],
    de: [
      'Wähle ein Secret mit mindestens 40 Zeichen und trage die Adresse deiner Nextcloud als url ein.',
      'Führe danach occ talk:bot:install mit Secret und Webhook-Adresse aus, wie in der Anleitung.',
      'Schalte den Bot in den Einstellungen jedes Raums ein und erlaube den Raum.',
    ],
  },
  zulip: {
    en: [
      'In Zulip, add a bot of the type Outgoing webhook.',
      'Copy its email address, its API key and the token of its zuliprc. Enter the address of the server as url.',
      'Afterwards enter the webhook address as endpoint of the bot.',
    ],
    de: [
      'Lege in Zulip einen Bot vom Typ Outgoing webhook an.',
      'Kopiere E-Mail-Adresse, API-Schlüssel und das Token aus seiner zuliprc. Trage die Adresse des Servers als url ein.',
      'Trage danach die Webhook-Adresse als Endpunkt des Bots ein.',
    ],
  },
  rocketchat: {
    en: [
      'Create a user for the bot, and a personal access token in its account.',
      'Copy token and user id, choose a token for the integration, and enter the address of the server as url.',
      'Afterwards let an administrator create an outgoing integration for sent messages, with the webhook address and the token.',
    ],
    de: [
      'Lege einen Benutzer für den Bot an und in seinem Konto ein Personal Access Token.',
      'Kopiere Token und Benutzer-ID, wähle ein Token für die Integration und trage die Adresse des Servers als url ein.',
      'Lass danach einen Administrator eine ausgehende Integration für gesendete Nachrichten mit Webhook-Adresse und Token anlegen.',
    ],
  },
  feishu: {
    en: [
      'Create a custom app with a bot at open.feishu.cn or open.larksuite.com, and set an Encrypt Key.',
      'Copy App ID, App Secret, Verification Token and Encrypt Key. Enter lark as domain for Lark.',
      'Afterwards enter the webhook address for events and callbacks, subscribe to im.message.receive_v1 and card.action.trigger, and publish the app.',
    ],
    de: [
      'Lege unter open.feishu.cn oder open.larksuite.com eine App mit Bot an und setze einen Encrypt Key.',
      'Kopiere App ID, App Secret, Verification Token und Encrypt Key. Trage für Lark lark als domain ein.',
      'Trage danach die Webhook-Adresse für Events und Callbacks ein, abonniere im.message.receive_v1 und card.action.trigger und veröffentliche die App.',
    ],
  },
  signal: {
    en: [
      'Get a number for the bot, and run the bridge signal-cli-rest-api behind a tunnel.',
      'Enter the number, the address of the tunnel as url, and its bearer token if it has one.',
      'Afterwards set RECEIVE_WEBHOOK_URL of the bridge to the webhook address, a slash and the webhook secret.',
    ],
    de: [
      'Besorge eine Nummer für den Bot und betreibe die Brücke signal-cli-rest-api hinter einem Tunnel.',
      'Trage die Nummer ein, die Adresse des Tunnels als url und sein Bearer-Token, falls es eines gibt.',
      'Setze danach RECEIVE_WEBHOOK_URL der Brücke auf Webhook-Adresse, Schrägstrich und Webhook-Secret.',
    ],
  },
  mattermost: {
    en: [
      'Create a bot account with the right to manage slash commands, and add it to your teams.',
      'Copy its token, and enter the address of the server as url. The command /talaria is created for you.',
      'Add the bot to the channels. For a trigger word, create an outgoing webhook with the webhook address.',
    ],
    de: [
      'Lege ein Bot-Konto mit dem Recht an, Slash-Befehle zu verwalten, und füge es deinen Teams hinzu.',
      'Kopiere sein Token und trage die Adresse des Servers als url ein. Der Befehl /talaria wird für dich angelegt.',
      'Füge den Bot den Kanälen hinzu. Lege für ein Auslösewort einen ausgehenden Webhook mit der Webhook-Adresse an.',
    ],
  },
  webex: {
    en: [
      'At developer.webex.com, create a bot and copy its access token.',
      'The webhooks are registered for you. Add the bot to a space, or write to it.',
    ],
    de: [
      'Lege unter developer.webex.com einen Bot an und kopiere sein Access Token.',
      'Die Webhooks werden für dich eingetragen. Füge den Bot einem Bereich hinzu oder schreib ihm.',
    ],
  },
  dingtalk: {
    en: [
      'At open-dev.dingtalk.com, create an internal app with a robot.',
      'Copy AppKey and AppSecret.',
      'Afterwards enter the webhook address as message address of the robot (mode HTTP), and publish the app.',
    ],
    de: [
      'Lege unter open-dev.dingtalk.com eine interne App mit einem Roboter an.',
      'Kopiere AppKey und AppSecret.',
      'Trage danach die Webhook-Adresse als Nachrichtenadresse des Roboters ein (Modus HTTP) und veröffentliche die App.',
    ],
  },
  zalo: {
    en: ['In Zalo, open Zalo Bot Manager and create a bot.', 'Copy the token. The webhook is registered for you.'],
    de: [
      'Öffne in Zalo den Zalo Bot Manager und lege einen Bot an.',
      'Kopiere das Token. Der Webhook wird für dich eingetragen.',
    ],
  },
  qq: {
    en: [
      'At q.qq.com, create a bot and copy its AppID and AppSecret.',
      'Afterwards enter the webhook address as callback, and switch on the events C2C_MESSAGE_CREATE and GROUP_AT_MESSAGE_CREATE.',
    ],
    de: [
      'Lege unter q.qq.com einen Bot an und kopiere AppID und AppSecret.',
      'Trage danach die Webhook-Adresse als Callback ein und schalte die Ereignisse C2C_MESSAGE_CREATE und GROUP_AT_MESSAGE_CREATE ein.',
    ],
  },
  wecom: {
    en: [
      'In the WeCom console, under AI bots, create a bot with API mode and URL callback.',
      'Copy Token and EncodingAESKey, and connect here before you save there.',
      'Then enter the webhook address as URL, and save.',
    ],
    de: [
      'Lege in der Verwaltung von WeCom unter AI-Bots einen Bot mit API-Modus und URL-Callback an.',
      'Kopiere Token und EncodingAESKey und verbinde hier, bevor du dort speicherst.',
      'Trage dann die Webhook-Adresse als URL ein und speichere.',
    ],
  },
  twitch: {
    en: [
      'At dev.twitch.tv, register an app of the kind Chat Bot, and copy Client ID and Client Secret.',
      'Let the account of the bot grant the app user:read:chat, user:write:chat and user:bot, and the channel grant channel:bot or make the bot a moderator.',
      'Enter the user ids of both accounts, and that of the channel as allow_chats. The subscription is made for you.',
    ],
    de: [
      'Registriere unter dev.twitch.tv eine App der Art Chat Bot und kopiere Client ID und Client Secret.',
      'Das Konto des Bots erlaubt der App user:read:chat, user:write:chat und user:bot, der Kanal channel:bot, oder er macht den Bot zum Moderator.',
      'Trage die Nutzer-IDs beider Konten ein, die des Kanals auch als allow_chats. Das Abonnement wird für dich angelegt.',
    ],
  },
  github: {
    en: [
      'At github.com, Settings, Developer settings, create a GitHub App: read and write for issues and pull requests, read for contents, and the events of the guide.',
      'Create a private key, install the app, and copy the app ID, the .pem file and the number at the end of the address of the installation.',
      'The webhook of the app is set for you. Without an app, enter the token of an account for the agent, and the webhook in the settings of the repository.',
    ],
    de: [
      'Lege unter github.com, Settings, Developer settings eine GitHub App an: Lesen und Schreiben für Issues und Pull Requests, Lesen für Inhalte, dazu die Ereignisse der Anleitung.',
      'Erzeuge einen Private Key, installiere die App und kopiere die App-ID, die .pem-Datei und die Zahl am Ende der Adresse der Installation.',
      'Der Webhook der App wird für dich gesetzt. Ohne App trägst du das Token eines Kontos für den Agenten ein und den Webhook in den Einstellungen des Repositorys.',
    ],
  },
  linear: {
    en: [
      'In Linear, Settings, API, create an OAuth application with client credentials, and switch on webhooks for agent session events.',
      'Copy client id, client secret and the signing secret of the webhook.',
      'Afterwards enter the webhook address in the application, and delegate an issue to the agent.',
    ],
    de: [
      'Lege in Linear unter Settings, API eine OAuth-Anwendung mit Client Credentials an und schalte Webhooks für Agent session events ein.',
      'Kopiere Client ID, Client Secret und das Signing Secret des Webhooks.',
      'Trage danach die Webhook-Adresse in der Anwendung ein und weise dem Agenten einen Vorgang zu.',
    ],
  },
  phone: {
    en: [
      'In the Twilio console, buy a number for voice and accept the terms of ConversationRelay.',
      'Copy account SID, auth token and the number. The webhook is registered for you.',
      'Enter the numbers that may call below.',
    ],
    de: [
      'Kaufe in der Twilio-Konsole eine Nummer für Anrufe und nimm die Bedingungen von ConversationRelay an.',
      'Kopiere Account SID, Auth Token und die Nummer. Der Webhook wird für dich eingetragen.',
      'Trage die Nummern, die anrufen dürfen, unten ein.',
    ],
  },
  telnyx_phone: {
    en: [
      'In the portal of Telnyx, buy a number for voice and create a TeXML application.',
      'Copy an API key, the public key of the account and the number. Enter the numbers that may call below.',
      'Afterwards enter the webhook address in the application.',
    ],
    de: [
      'Kaufe im Portal von Telnyx eine Nummer für Anrufe und lege eine TeXML-Anwendung an.',
      'Kopiere einen API-Schlüssel, den Public Key des Kontos und die Nummer. Trage die Nummern, die anrufen dürfen, unten ein.',
      'Trage danach die Webhook-Adresse in der Anwendung ein.',
    ],
  },
  twilio_whatsapp: {
    en: [
      'In the Twilio console, register a WhatsApp sender. Copy account SID and auth token, and the number of the sender.',
      'Afterwards enter the webhook address at the sender, for incoming messages.',
    ],
    de: [
      'Richte in der Twilio-Konsole einen WhatsApp-Absender ein. Kopiere Account SID, Auth Token und seine Nummer.',
      'Trage danach die Webhook-Adresse beim Absender für eingehende Nachrichten ein.',
    ],
  },
  rcs: {
    en: [
      'In the Twilio console, create an RCS sender. Copy account SID, auth token, and the sender or its messaging service.',
      'Afterwards enter the webhook address at the sender, for incoming messages.',
    ],
    de: [
      'Lege in der Twilio-Konsole einen RCS-Absender an. Kopiere Account SID, Auth Token und den Absender oder seinen Messaging Service.',
      'Trage danach die Webhook-Adresse beim Absender für eingehende Nachrichten ein.',
    ],
  },
  email: {
    en: [
      'Your domain must be at Cloudflare with Email Routing on.',
      'Choose an address of the agent and route it to this worker.',
    ],
    de: [
      'Deine Domain liegt bei Cloudflare, Email Routing ist eingeschaltet.',
      'Wähle eine Adresse des Agenten und leite sie an diesen Worker.',
    ],
  },
}
