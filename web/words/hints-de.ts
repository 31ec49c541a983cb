/** Names in German which secret a platform asks for. The API says it in English. */

/** By what the API says. */
export const germanHints: Readonly<Record<string, string>> = {
  '32 to 256 letters, digits, "_" and "-"; generated when it is not given.':
    '32 bis 256 Buchstaben, Ziffern, „_“ und „-“; wird erzeugt, wenn nichts angegeben ist.',
  'A permanent access token of a system user.': 'Ein dauerhafter Zugriffstoken eines Systembenutzers.',
  'The JSON file of a key of the service account, as text.':
    'Die JSON-Datei eines Schlüssels des Dienstkontos, als Text.',
  'The RCS sender without "rcs:", like brand_agent, or the SID of a messaging service.':
    'Der RCS-Absender ohne „rcs:“, wie brand_agent, oder die SID eines Messaging Service.',
  'The WhatsApp number that sends, like +15550001111, or the SID of a messaging service.':
    'Die WhatsApp-Nummer, die sendet, wie +15550001111, oder die SID eines Messaging Service.',
  'The access token of the page, with pages_messaging and pages_manage_metadata.':
    'Der Zugriffstoken der Seite, mit pages_messaging und pages_manage_metadata.',
  'The access token of the professional account, with instagram_business_manage_messages.':
    'Der Zugriffstoken des professionellen Kontos, mit instagram_business_manage_messages.',
  'The account SID of Twilio: AC and 32 characters.': 'Die Account SID von Twilio: AC und 32 Zeichen.',
  'The app-level token with the scope connections:write, like xapp-…, for settings.delivery "socket".':
    'Der App-Level-Token mit dem Recht connections:write, wie xapp-…, für settings.delivery „socket“.',
  'The auth token of the account. It also signs the webhooks.':
    'Der Auth Token des Kontos. Er unterschreibt auch die Webhooks.',
  'The bot token of the app, like xoxb-…': 'Der Bot-Token der App, wie xoxb-…',
  'The channel secret, from the basic settings.': 'Das Channel Secret, aus den Grundeinstellungen.',
  'The id of the Instagram account: a number.': 'Die Kennung des Instagram-Kontos: eine Zahl.',
  'The id of the application: a number.': 'Die Kennung der Anwendung: eine Zahl.',
  'The id of the page: a number.': 'Die Kennung der Seite: eine Zahl.',
  'The id of the phone number (not the number itself).': 'Die Kennung der Telefonnummer (nicht die Nummer selbst).',
  'The long-lived channel access token, from the page Messaging API of the channel.':
    'Der langlebige Channel Access Token, von der Seite Messaging API des Kanals.',
  'The number that sends, like +15550001111, or the SID of a messaging service.':
    'Die Nummer, die sendet, wie +15550001111, oder die SID eines Messaging Service.',
  'The public key of the application: 64 hexadecimal digits.':
    'Der öffentliche Schlüssel der Anwendung: 64 hexadezimale Ziffern.',
  'The secret of the app, from its basic settings.': 'Das Geheimnis der App, aus ihren Grundeinstellungen.',
  'The secret of the app, which signs the webhooks.': 'Das Geheimnis der App, das die Webhooks unterschreibt.',
  'The signing secret from the basic information of the app.':
    'Das Signing Secret aus den grundlegenden Angaben der App.',
  'The token of the bot, from the page Bot of the application.': 'Der Token des Bots, von der Seite Bot der Anwendung.',
  'The token that @BotFather gave, like 123456:ABC-DEF.': 'Der Token, den @BotFather gegeben hat, wie 123456:ABC-DEF.',
  'The token that @BotFather gave.': 'Der Token, den @BotFather gegeben hat.',
  'The token that you enter with the webhook.': 'Der Token, den du beim Webhook einträgst.',
  'The token that you enter with the webhook: a word of your choice.':
    'Der Token, den du beim Webhook einträgst: ein Wort deiner Wahl.',
  'The application (client) id of the bot.': 'Die Anwendungs-ID (Client) des Bots.',
  'The value of a client secret of the application.': 'Der Wert eines geheimen Clientschlüssels der Anwendung.',
  'The directory (tenant) id of your organisation.': 'Die Verzeichnis-ID (Mandant) deiner Organisation.',
  'The secret of occ talk:bot:install: 40 to 128 characters.':
    'Das Geheimnis von occ talk:bot:install: 40 bis 128 Zeichen.',
  'The email address of the bot.': 'Die E-Mail-Adresse des Bots.',
  'The API key of the bot.': 'Der API-Schlüssel des Bots.',
  'The token of the bot, in the file zuliprc of its settings.':
    'Der Token des Bots, in der Datei zuliprc seiner Einstellungen.',
  'The user id that belongs to the personal access token.':
    'Die Benutzer-ID, zu der der persönliche Zugriffstoken gehört.',
  'A personal access token of the account of the bot.': 'Ein persönlicher Zugriffstoken des Kontos des Bots.',
  'The token of the outgoing integration.': 'Der Token der ausgehenden Integration.',
  'The App ID, like cli_….': 'Die App ID, wie cli_….',
  'The App Secret.': 'Das App Secret.',
  'The Verification Token of Events & Callbacks.': 'Der Verification Token aus Events & Callbacks.',
  'The Encrypt Key of Events & Callbacks.': 'Der Encrypt Key aus Events & Callbacks.',
  'The number of the bot with its country code, like +15550001111.':
    'Die Nummer des Bots mit Ländervorwahl, wie +15550001111.',
  'At least 20 letters and digits, which end the address of the webhook.':
    'Mindestens 20 Buchstaben und Ziffern, mit denen die Adresse des Webhooks endet.',
  'The bearer token of the tunnel to the bridge.': 'Der Bearer-Token des Tunnels zur Bridge.',
  'The access token of the bot account.': 'Der Zugriffstoken des Bot-Kontos.',
  'The token of an outgoing webhook, where you use one.':
    'Der Token eines ausgehenden Webhooks, wenn du einen verwendest.',
  'The access token of the account of the bot: Element, Settings, Help & About, Advanced.':
    'Der Zugriffstoken des Kontos des Bots: Element, Einstellungen, Hilfe & Info, Erweitert.',
  'The secret of the webhook: 16 or more characters of your choice.':
    'Das Geheimnis des Webhooks: 16 oder mehr Zeichen deiner Wahl.',
  'The id of the GitHub App.': 'Die ID der GitHub App.',
  'The private key of the app: the whole .pem file.': 'Der private Schlüssel der App: die ganze .pem-Datei.',
  'The number at the end of the address of the installation.': 'Die Zahl am Ende der Adresse der Installation.',
  'Without an app: an access token of an account for the agent.':
    'Ohne App: ein Zugriffstoken eines Kontos für den Agenten.',
  'The signing secret of the webhook of the application.': 'Das Signing Secret des Webhooks der Anwendung.',
  'The client id of the application.': 'Die Client-ID der Anwendung.',
  'The client secret of the application.': 'Das Client Secret der Anwendung.',
  'Instead of both: a token of the app user (actor=app).': 'Statt beider: ein Token des App-Benutzers (actor=app).',
  'The auth token of the account. It also signs the calls.':
    'Das Auth Token des Kontos. Es unterschreibt auch die Anrufe.',
  'The number that is called, like +15550001111.': 'Die Nummer, die angerufen wird, wie +15550001111.',
  'An API key of the account: KEY….': 'Ein API-Schlüssel des Kontos: KEY….',
  'The public key of the account, with which it signs.':
    'Der öffentliche Schlüssel des Kontos, mit dem es unterschreibt.',
  'Proves the address of the socket.': 'Beweist die Adresse des Sockets.',
  'The access token of the bot.': 'Der Zugriffstoken des Bots.',
  'The AppKey (Client ID) of the app.': 'Der AppKey (Client ID) der App.',
  'The AppSecret (Client Secret). It also signs the messages.':
    'Das AppSecret (Client Secret). Es unterschreibt auch die Nachrichten.',
  'The RobotCode, where it is not the AppKey.': 'Der RobotCode, wenn er nicht der AppKey ist.',
  'The AppID of the bot.': 'Die AppID des Bots.',
  'The AppSecret. It also signs the events.': 'Das AppSecret. Es unterschreibt auch die Ereignisse.',
  'The Token of the callback.': 'Das Token des Callbacks.',
  'The EncodingAESKey of the callback: 43 letters and digits.':
    'Der EncodingAESKey des Callbacks: 43 Buchstaben und Ziffern.',
  'The Client ID of the app.': 'Die Client ID der App.',
  'A Client Secret of the app.': 'Ein Client Secret der App.',
  'The user id of the account of the bot: digits.': 'Die Nutzer-ID des Kontos des Bots: Ziffern.',
  'The user id of the account of the channel: digits.': 'Die Nutzer-ID des Kontos des Kanals: Ziffern.',
  '10 to 100 letters, digits, "_" and "-"; generated when it is not given.':
    '10 bis 100 Buchstaben, Ziffern, „_“ und „-“; wird erzeugt, wenn es fehlt.',
  'The id of the TeXML application, where the agent makes calls.': 'Die ID der TeXML-Anwendung, wenn der Agent anruft.',
  'The token that Zalo Bot Manager gave, like 123456:abc.':
    'Der Token, den Zalo Bot Manager gegeben hat, wie 123456:abc.',
  '8 to 256 letters, digits, "_" and "-"; generated when it is not given.':
    '8 bis 256 Buchstaben, Ziffern, „_“ und „-“; wird erzeugt, wenn es fehlt.',
}
