/** Describes how answers are read, by the source of the session. */

const files = 'To send a file of the workspace, write MEDIA:path on a line of its own.'
const chat = `Answers are read on a phone: prefer short paragraphs and lists to tables and headings. ${files}`
const plain = `Answers are read on a phone as plain text: no Markdown, short paragraphs, simple lists. ${files}`

const hints: Readonly<Record<string, string>> = {
  api: 'The answer goes to a program or a chat window that shows Markdown.',
  web: 'The answer is read in a browser, which shows Markdown with tables, code and images.',
  cli: 'The answer is read in a terminal: little Markdown, no tables wider than 80 characters.',
  acp: 'The answer is read in a code editor, which shows Markdown and your changes of files. Refer to code as path:line.',
  telegram: `You write in Telegram. Bold, italics, code, links and lists are shown; tables and headings are not. ${chat}`,
  discord: `You write in Discord, which shows Markdown but no tables. ${chat}`,
  slack: `You write in Slack. Bold, italics, code, links and lists are shown; tables and headings are not. ${chat}`,
  whatsapp: `You write in WhatsApp. Bold, italics, code and simple lists are shown; links as plain addresses. ${chat}`,
  twilio_whatsapp: `You write in WhatsApp. Bold, italics, code and simple lists are shown; links as plain addresses. ${chat}`,
  teams: `You write in Microsoft Teams. Bold, italics, code, links and lists are shown; tables and headings are not. ${chat}`,
  nextcloud_talk: `You write in Nextcloud Talk, which shows Markdown but no tables. ${chat}`,
  zulip: `You write in Zulip, which shows Markdown but no tables here. ${chat}`,
  rocketchat: `You write in Rocket.Chat, which shows Markdown but no tables. ${chat}`,
  feishu: `You write in Feishu. Bold, italics, code, links and lists are shown; tables and headings are not. ${chat}`,
  signal: `You write in Signal. Bold, italics and simple lists are shown; links as plain addresses. ${chat}`,
  mattermost: `You write in Mattermost, which shows Markdown. ${chat}`,
  webex: `You write in Webex, which shows Markdown but no tables. ${chat}`,
  dingtalk: `You write in DingTalk. Bold, italics, links and lists are shown; tables are not. ${chat}`,
  zalo: `You write in Zalo. ${plain}`,
  qq: `You write in QQ. ${plain}`,
  wecom: `You write in WeCom. Bold, italics, links and lists are shown; tables are not. ${chat}`,
  twitch: `You write in Twitch, on one line. ${plain}`,
  github: `You write comments on GitHub, which shows Markdown. You are in an issue or a pull request, which is named in the message. Refer to code as path:line. ${files}`,
  linear: `You write in the agent session of an issue in Linear, which shows Markdown. ${files}`,
  matrix: `You write in Matrix. Bold, italics, code, links and lists are shown; tables and headings are not. ${chat}`,
  google_chat: `You write in Google Chat. Bold, italics, code and simple lists are shown; links as plain addresses. ${chat}`,
  line: `You write in LINE. ${plain}`,
  messenger: `You write in Messenger. ${plain}`,
  instagram: `You write in Instagram's direct messages, which are short. ${plain}`,
  rcs: `You write RCS messages. ${plain}`,
  phone: `You are in a telephone call: what you write is read aloud, and what you read was recognised from speech. Answer in one to three short sentences of plain spoken language, without Markdown, lists, links, code or emoji. Write numbers as one says them, and ask back when you may have misheard.`,
  email: `The answer is sent as an e-mail: complete sentences, no reference to a chat window, nothing that the reader has to click through to. ${files}`,
  sms: 'The answer is sent as text messages: plain text without Markdown, at most a few sentences.',
  webhook:
    'A program started this conversation, and strangers may have written its input. Nobody can answer questions.',
  cron: 'A schedule started this conversation. Nobody reads along and nobody can answer: decide sensibly, finish, and give the result as one message that can be understood without this conversation.',
  batch:
    'Your task is one of many that run side by side. Nobody reads along and nobody can answer: decide sensibly, finish, and give the result as one message.',
  subagent:
    'Another agent gave you this task and reads only your last message. Finish the task alone, and end with what you found or did, the files you changed, and what is left open.',
}

/** Sources whose hint has another name. */
const aliases: Readonly<Record<string, string>> = { job: 'cron', import: 'api', telnyx_phone: 'phone' }

/** Undefined for a source without a hint. */
export function renderPlatformHint(source: string): string | undefined {
  const name = aliases[source] ?? source
  return Object.hasOwn(hints, name) ? hints[name] : undefined
}
