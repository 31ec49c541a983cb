/** The words of the page on which a person lets an app use the MCP server. */

const english = {
  lang: 'en',
  other: 'Deutsch',
  otherLang: 'de',
  title: 'Let {name} use Talaria?',
  asks: '{name} wants to use this agent for you.',
  unproven: 'The app chose this name itself. Continue only if you have just begun this in an app that you trust.',
  toHost: 'It runs at',
  toComputer: 'It is a program on your computer, which gets the access at',
  toScheme: 'It is an application on your computer, which opens addresses that begin with',
  person: 'You are {who}, of the tenant {tenant}.',
  may: 'It may',
  chat: 'give the agent tasks, and stop them. The agent works on them with all its tools',
  read: 'read conversations, files, memory, skills, jobs, and what waits for approval',
  write: 'add to the memory',
  jobs: 'create jobs and run them',
  approve: 'answer approvals of others in your place',
  notYours: 'your key does not have this right',
  chooseOne: 'Choose at least one right.',
  changed: 'Somebody else is signed in by now. Look again.',
  ends: 'You can end this at any time in Talaria, under Account.',
  allow: 'Allow',
  deny: 'Refuse',
  signOut: 'Use another key',
  signInTitle: 'Sign in to connect an app',
  signInText: '{host} wants to use your agent. Sign in first; you decide after that.',
  key: 'Your key of Talaria',
  signIn: 'Sign in',
  wrongKey: 'This key is wrong or was revoked.',
  tooMany: 'Too many attempts. Wait a minute.',
  refusedTitle: 'The app cannot be connected',
  unknown: 'This app is not registered here. Remove it in the app and add it again.',
  unreachable: 'The description of the app cannot be read at the address that it gives.',
  id: 'The description of the app is not that of this address.',
  redirects: 'The description of the app has no valid address to return to.',
  authentication: 'The app wants to sign in in a way that does not exist here.',
  redirect: 'The app wants to return to an address that is not its own.',
  request: 'The request of the app is not valid.',
  pkce: 'The app does not protect its sign-in (PKCE with S256).',
  resource: 'The app wants access to another server.',
  scope: 'The app asks for rights that do not exist.',
  foreign: 'This form was sent by another page.',
} as const

export type ConsentWords = Readonly<Record<keyof typeof english, string>>
export type ConsentWord = keyof typeof english

const german: ConsentWords = {
  lang: 'de',
  other: 'English',
  otherLang: 'en',
  title: 'Darf {name} Talaria benutzen?',
  asks: '{name} möchte diesen Agenten für dich benutzen.',
  unproven:
    'Den Namen hat die App selbst gewählt. Fahre nur fort, wenn du das gerade in einer App begonnen hast, der du vertraust.',
  toHost: 'Sie läuft bei',
  toComputer: 'Sie ist ein Programm auf deinem Rechner und bekommt den Zugang unter',
  toScheme: 'Sie ist eine Anwendung auf deinem Rechner und öffnet Adressen mit dem Anfang',
  person: 'Du bist {who}, im Mandanten {tenant}.',
  may: 'Sie darf',
  chat: 'dem Agenten Aufgaben geben und sie anhalten. Der Agent arbeitet daran mit allen seinen Werkzeugen',
  read: 'Gespräche, Dateien, Gedächtnis, Skills, Aufträge und offene Freigaben lesen',
  write: 'etwas ins Gedächtnis schreiben',
  jobs: 'Aufträge anlegen und ausführen',
  approve: 'Freigaben anderer an deiner Stelle beantworten',
  notYours: 'dein Schlüssel hat dieses Recht nicht',
  chooseOne: 'Wähle mindestens ein Recht.',
  changed: 'Inzwischen ist jemand anderes angemeldet. Sieh noch einmal hin.',
  ends: 'Du kannst das jederzeit in Talaria unter „Konto“ beenden.',
  allow: 'Erlauben',
  deny: 'Ablehnen',
  signOut: 'Anderen Schlüssel benutzen',
  signInTitle: 'Anmelden, um eine App zu verbinden',
  signInText: '{host} möchte deinen Agenten benutzen. Melde dich zuerst an; du entscheidest danach.',
  key: 'Dein Schlüssel von Talaria',
  signIn: 'Anmelden',
  wrongKey: 'Dieser Schlüssel ist falsch oder entzogen.',
  tooMany: 'Zu viele Versuche. Warte eine Minute.',
  refusedTitle: 'Die App kann nicht verbunden werden',
  unknown: 'Diese App ist hier nicht angemeldet. Entferne sie in der App und füge sie neu hinzu.',
  unreachable: 'Die Beschreibung der App ist unter der Adresse, die sie nennt, nicht zu lesen.',
  id: 'Die Beschreibung der App gehört nicht zu dieser Adresse.',
  redirects: 'In der Beschreibung der App steht keine gültige Adresse für die Rückkehr.',
  authentication: 'Die App möchte sich auf eine Art ausweisen, die es hier nicht gibt.',
  redirect: 'Die App möchte zu einer Adresse zurück, die nicht ihre eigene ist.',
  request: 'Die Anfrage der App ist nicht gültig.',
  pkce: 'Die App schützt ihre Anmeldung nicht (PKCE mit S256).',
  resource: 'Die App möchte Zugang zu einem anderen Server.',
  scope: 'Die App fragt nach Rechten, die es nicht gibt.',
  foreign: 'Dieses Formular hat eine andere Seite abgeschickt.',
}

/** `wished`: languages in the order of the person, from the address and from the browser. */
export function chooseWords(...wished: readonly (string | null | undefined)[]): ConsentWords {
  const first = wished
    .flatMap((list) => (list ?? '').slice(0, 200).split(/[\s,]/))
    .map((one) => one.slice(0, 2).toLowerCase())
    .find((one) => one === 'en' || one === 'de')
  return first === 'de' ? german : english
}

export const fillWords = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w{1,20})\}/g, (_, name: string) => values[name] ?? '')
