import { describe, expect, it } from 'vitest'
import { stripQuotedReply, textOfHtml } from '#channels/email/email-text.ts'
import { parseMail } from '#channels/email/parse-mail.ts'
import { findOwnWords } from '#channels/text/describe-forward.ts'

const mail = async (body: string, headers: readonly string[] = [], type = 'text/plain') => {
  const raw = [
    'Authentication-Results: mx.cloudflare.net; dmarc=pass header.from=friend.test',
    'From: Al <al@friend.test>',
    'To: agent@bar.test',
    'Message-ID: <1@friend.test>',
    `Content-Type: ${type}; charset=utf-8`,
    ...headers,
    '',
    body,
  ].join('\r\n')
  const envelope = { from: 'al@friend.test', to: 'agent@bar.test', receivedAt: 0 }
  return ((await parseMail(new TextEncoder().encode(raw), envelope, undefined)) as { text?: string } | undefined)?.text
}
const answers = ['Subject: Re: x', 'In-Reply-To: <r1@bar.test>']

describe('a mail that is passed on', () => {
  const gmail =
    'Please book this.\n\n---------- Forwarded message ---------\nFrom: Shop <billing@shop.test>\nSubject: Invoice\n\nAmount due: 42 EUR.'
  const outlook =
    'Please book this.\n\n________________________________\nFrom: Shop <billing@shop.test>\nSent: Tuesday\nTo: Al\nSubject: Invoice\n\nAmount due: 42 EUR.'
  it.each([
    ['of Gmail', gmail, ['Subject: Fwd: Invoice']],
    ['of Outlook', outlook, ['Subject: FW: Invoice']],
    [
      'of Outlook in German',
      outlook.replace('From:', 'Von:'),
      ['Subject: WG: Rechnung', 'In-Reply-To: <r1@shop.test>'],
    ],
    ['that refers to it', gmail, ['Subject: Fwd: Invoice', 'References: <r1@shop.test>']],
    ['with a signature before it', gmail.replace('this.', 'this.\n\n-- \nAl'), ['Subject: Fwd: Invoice']],
    ['without a word in its subject', gmail, ['Subject: Invoice']],
  ])('stays whole: %s', async (_name, body, headers) => {
    const text = await mail(body, headers)
    expect(text).toContain('Please book this.')
    expect(text).toContain('Amount due: 42 EUR.')
    // The rest was not typed by who passes it on.
    expect(findOwnWords(text ?? '')?.replace(/^Subject: Invoice\n\n|\n\n-- \nAl$/g, '')).toBe('Please book this.')
  })

  it('loses the signature of a mail that passes nothing on', async () => {
    expect(await mail('Hello.\n\n-- \nAl\nPhone 1', ['Subject: Hi'])).toBe('Subject: Hi\n\nHello.')
  })
})

describe('the quoted mail below an answer', () => {
  const quote = '\n\n> OLD TEXT\n> more'
  it.each([
    ['English', 'On Tue, Sep 1, 2026 at 9:00 AM Agent <a@bar.test> wrote:'],
    ['German', 'Am Di., 1. Sept. 2026 um 09:00 Uhr schrieb Agent <a@bar.test>:'],
    ['Portuguese', 'Em ter., 1 de set. de 2026 às 09:00, Agent <a@bar.test> escreveu:'],
    ['Russian', 'вт, 1 сент. 2026 г. в 09:00, Agent <a@bar.test>:'],
    ['Chinese', 'Agent <a@bar.test> 于2026年9月1日周二 09:00写道：'],
    ['Japanese', '2026年9月1日(火) 9:00 Agent <a@bar.test>:'],
    ['Korean', '2026년 9월 1일 (화) 오전 9:00, Agent <a@bar.test>님이 작성:'],
    ['Czech', 'út 1. 9. 2026 v 9:00 odesílatel Agent <a@bar.test> napsal:'],
    ['Turkish', 'Agent <a@bar.test>, 1 Eyl 2026 Sal, 09:00 tarihinde şunu yazdı:'],
    ['Finnish', 'ti 1. syysk. 2026 klo 9.00 Agent (a@bar.test) kirjoitti:'],
    ['Ukrainian', 'вт, 1 вер. 2026 р. о 09:00 Agent <a@bar.test> пише:'],
    ['French', 'Le mar. 1 sept. 2026 à 09:00, Agent <a@bar.test> a écrit :'],
    ['Spanish', 'El mar, 1 sept 2026 a las 9:00, Agent (<a@bar.test>) escribió:'],
    ['Italian', 'Il giorno mar 1 set 2026 alle ore 09:00 Agent <a@bar.test> ha scritto:'],
    ['Dutch', 'Op di 1 sep 2026 om 09:00 schreef Agent <a@bar.test>:'],
    ['Polish', 'wt., 1 wrz 2026 o 09:00 Agent <a@bar.test> napisał(a):'],
    ['Swedish', 'Den tis 1 sep. 2026 kl 09:00 skrev Agent <a@bar.test>:'],
    ['Danish', 'Den tirs. 1. sep. 2026 kl. 09.00 skrev Agent <a@bar.test>:'],
    ['Hungarian', 'Agent <a@bar.test> ezt írta (időpont: 2026. szept. 1., K, 9:00):'],
    ['Greek', 'Στις Τρί 1 Σεπ 2026 στις 9:00 π.μ., ο χρήστης Agent <a@bar.test> έγραψε:'],
    ['Romanian', 'În mar., 1 sept. 2026 la 09:00, Agent <a@bar.test> a scris:'],
    ['Vietnamese', 'Vào Th 3, 1 thg 9, 2026 vào lúc 09:00 Agent <a@bar.test> đã viết:'],
    ['Indonesian', 'Pada Sel, 1 Sep 2026 pukul 09.00 Agent <a@bar.test> menulis:'],
    ['Thai', 'เมื่อ อ. 1 ก.ย. 2026 เวลา 09:00 Agent <a@bar.test> เขียนว่า:'],
    ['Hebrew', '‏בתאריך יום ג׳, 1 בספט׳ 2026 ב-9:00 מאת ‪Agent <a@bar.test>:'],
    ['Hindi', 'मंगल, 1 सित॰ 2026 को 9:00 पर Agent <a@bar.test> ने लिखा:'],
    ['Persian with its digits', 'در تاریخ سه‌شنبه ۱ سپتامبر ۲۰۲۶،‏ ۹:۰۰ Agent نوشت:'],
    ['Arabic', 'في الثلاثاء، ١ سبتمبر ٢٠٢٦ ٩:٠٠ ص Agent <a@bar.test> كتب:'],
    ['broken into two lines', 'Em ter., 1 de set. de 2026 às 09:00, Agent\n<a@bar.test> escreveu:'],
  ])('is removed: %s', async (_name, line) => {
    expect(await mail(`Yes.\n\n${line}${quote}`, answers)).toBe('Yes.')
  })

  it.each([
    [
      'English',
      'From: Agent <a@bar.test>\nSent: Tuesday, September 1, 2026 9:00 AM\nTo: Al <al@friend.test>\nSubject: x',
    ],
    ['German', 'Von: Agent <a@bar.test>\nGesendet: Dienstag, 1. September 2026 09:00\nAn: Al\nCc: Bo\nBetreff: x'],
    ['Russian', 'От: Agent <a@bar.test>\nОтправлено: 1 сентября 2026 г. 9:00\nКому: Al\nТема: x'],
    ['Chinese', '发件人: Agent <a@bar.test>\n发送时间: 2026年9月1日 9:00\n收件人: Al\n主题: x'],
    ['in bold', '*From:* Agent <a@bar.test>\n*Sent:* Tuesday\n*To:* Al\n*Subject:* x'],
  ])('is removed below the headers of Outlook: %s', async (_name, block) => {
    expect(await mail(`Yes.\n\n${block}\n\nOLD TEXT`, answers)).toBe('Yes.')
  })

  it.each([
    ['a line with a colon', 'Please read this at 10:00:\n> a quote of a book\nThanks'],
    ['a list of fields', 'Here it is.\n\nFrom: Berlin\nUntil: Paris\nPrice: 10'],
    ['a table of names', 'Name: Bob\nMail: bob@x.example\nSubject: history'],
    ['a question about a person', 'From: what I heard, it works.\nSubject: none'],
    ['quoted lines between answers', '> one?\nYes.\n> two?\nNo.'],
  ])('is not: %s', async (_name, body) => {
    expect(await mail(body, answers)).toBe(body)
  })

  const intro = 'On Tue, Sep 1, 2026 at 9:00 AM Agent <a@bar.test> wrote:'
  const long = '> a quoted line that is so long that a program has broken it'
  it.each([
    ['between its lines', `See below.\n\n${intro}\n> one?\nYes.\n> two?\nNo.`],
    ['with empty lines', `See below.\n\n${intro}\n\n> one?\n\nYes.\n\n> two?\n> more`],
    ['below it', `Hello,\n\n${intro}\n> OLD TEXT\n\nThat is right.`],
    ['below Portuguese', `Olá,\n\nEm ter., 1 de set. de 2026 às 09:00, Agent\n<a@bar.test> escreveu:\n> OLD\n\nSim.`],
  ])('stays where the person has answered %s', async (_name, body) => {
    expect(await mail(body, answers)).toBe(body)
  })

  it.each([
    ['a signature', `Yes.\n\n${intro}\n> OLD TEXT\n\n-- \nAl\nPhone 1`],
    ['the rest of a line that was broken', `Yes.\n\n${intro}\n${long}\nrest\n> OLD TEXT`],
    ['the rest of its last line', `Yes.\n\n${intro}\n> OLD TEXT\n${long}\nrest`],
  ])('is removed where nothing follows but %s', async (_name, body) => {
    expect(await mail(body, answers)).toBe('Yes.')
  })

  it.each([
    [
      'Thunderbird',
      '<div class="moz-cite-prefix">Am 01.09.26 schrieb Agent:</div><blockquote type="cite"><p>one?</p></blockquote><p>Yes.</p><blockquote type="cite">two?<blockquote type="cite">old</blockquote></blockquote><p>No.</p>',
      'Am 01.09.26 schrieb Agent:\n\n> one?\nYes.\n\n> two?\n> old\nNo.',
    ],
    [
      'Gmail',
      '<div>Below.</div><div class="gmail_quote"><div class="gmail_attr">On 1 Sep Agent wrote:<br></div><blockquote class="gmail_quote">one?</blockquote><div>Yes.</div><blockquote class="gmail_quote">two?</blockquote></div>',
      'Below.\nOn 1 Sep Agent wrote:\n\n> one?\nYes.\n\n> two?',
    ],
    [
      'Apple',
      '<div>Hi,</div><blockquote type="cite"><div>one?</div></blockquote><div>Yes.</div>',
      'Hi,\n\n> one?\nYes.',
    ],
  ])('stays marked in HTML of %s where the person has answered between', async (_name, html, expected) => {
    expect(await mail(html, answers, 'text/html')).toBe(expected)
  })

  it('is removed from HTML where only a signature follows', async () => {
    const signature = '<pre class="moz-signature" cols="72">-- \nAl</pre>'
    const quote = '<blockquote type="cite"><p>OLD TEXT</p><blockquote>older</blockquote>end</blockquote>'
    expect(await mail(`<p>Yes.</p>${quote}${signature}`, answers, 'text/html')).toBe('Yes.')
  })

  it('stays when there is nothing else', () => {
    expect(stripQuotedReply('> only this')).toBe('> only this')
  })

  it.each([
    [
      'Gmail',
      '<div dir="ltr">Yes.</div><div class="gmail_quote"><div class="gmail_attr">On Tue, Sep 1, 2026 Agent wrote:<br></div><blockquote class="gmail_quote"><div>OLD TEXT</div></blockquote></div>',
    ],
    ['Outlook', '<p>Yes.</p><hr><div id="divRplyFwdMsg"><b>From:</b> Agent</div><div>OLD TEXT</div>'],
    [
      'Outlook on a computer',
      '<p>Yes.</p><div style="border-top:solid"><p><b>From:</b> Agent &lt;a@bar.test&gt;<br><b>Sent:</b> Tuesday<br><b>To:</b> Al<br><b>Subject:</b> x</p></div><p>OLD TEXT</p>',
    ],
    [
      'Apple',
      '<div>Yes.</div><div><blockquote type="cite"><div>On Sep 1, 2026, Agent wrote:</div>OLD <blockquote>TEXT</blockquote> end</blockquote></div>',
    ],
    [
      'Thunderbird',
      '<p>Yes.</p><div class="moz-cite-prefix">Am 01.09.26 schrieb Agent:</div><blockquote type="cite" cite="mid:1"><p>OLD TEXT</p></blockquote>',
    ],
    ['Yahoo', '<div>Yes.</div><div id="ydp1yahoo_quoted_1" class="yahoo_quoted"><div>OLD TEXT</div></div>'],
  ])('is removed from HTML of %s', async (_name, html) => {
    expect(await mail(html, answers, 'text/html')).toBe('Yes.')
  })

  it('stays in HTML that is passed on, and a passage that a person quotes stays', async () => {
    const html =
      '<div>See.</div><div class="gmail_quote">---------- Forwarded message ---------<br><div>OLD TEXT</div></div>'
    expect(await mail(html, ['Subject: Fwd: x'], 'text/html')).toContain('OLD TEXT')
    expect(await mail('<p>He says:</p><blockquote>to be</blockquote><p>Right?</p>', answers, 'text/html')).toBe(
      'He says:\n\n> to be\nRight?',
    )
    expect(await mail('<blockquote type="cite">all is quoted</blockquote>', answers, 'text/html')).toBe(
      '[Forwarded:]\n> all is quoted',
    )
  })
})

describe('the text of HTML', () => {
  it.each([
    [
      '<p>see <a href="https://shop.test/track?id=5&amp;x=1">tracking</a></p>',
      'see tracking (https://shop.test/track?id=5&x=1)',
    ],
    ['<a href="https://a.test/">a.test</a>', 'a.test'],
    ['<a href="https://a.test/x">https://a.test/x</a> and <a href="#top">up</a>', 'https://a.test/x and up'],
    ['<a href="mailto:a@b.test">write</a><a href="https://a.test/"><img src="x"></a>', 'write'],
    ['<table><tr><td>A</td><td>1</td></tr><tr><th>B</th><td> 2 </td></tr></table>', 'A\t1\nB\t2'],
    ['<table><tr><td><table><tr><td>layout</td></tr></table></td></tr></table>', 'layout'],
    ['a<style>x</style>b<br>c &lt; d', 'ab\nc < d'],
  ])('%s', (html, expected) => {
    expect(textOfHtml(html)).toBe(expected)
  })

  it('is read in linear time', () => {
    for (const piece of ['<a href="', '<div class="gmail_quote">', '</a>', '<td>', '\t', 'On 2026 9:00:\n'])
      expect(textOfHtml(piece.repeat(50_000), true)).toBeDefined()
  })
})
