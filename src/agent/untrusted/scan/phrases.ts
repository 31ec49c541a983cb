/**
 * Lists phrases of directives. They are looked for in the sentences that words.ts renders: words in small letters with
 * one space between them, a comma where a clause begins, a line for each sentence.
 */

import type { FindingKind } from './finding.ts'

export type Phrase = {
  readonly kind: FindingKind
  readonly pattern: RegExp
  /** Whether a negation before the phrase makes it harmless: `never ignore previous instructions`. */
  readonly canBeNegated?: boolean
}

const gap = (max: number) => `(?: [^\\s,]+){0,${max}}`
const any = (words: string) => `(?:${words.replaceAll(' ', '|')})`
const phrase = (kind: FindingKind, source: string, canBeNegated = false): Phrase => ({
  kind,
  pattern: new RegExp(`(?<![^\\s])${source}(?![^\\s])`, 'g'),
  canBeNegated,
})

/** English has one form for the imperative and for a description (`later rules override earlier rules`). */
const lead = `(?:(?<![^\\n])|(?<=, )|(?<=${any('and to must should please now you then just will immediately also instead simply hereby can i we completely first')} ))`
const cancel = any('ignore disregard forget discard bypass neglect dismiss abandon overrule')
const earlier = any('previous prior above earlier preceding foregoing original initial existing former past')
const instructions = any(
  'instruction instructions instruct directive directives guideline guidelines prompt prompts rules rule constraints restrictions programming training policies policy',
)
const before = any('above before prior earlier previously beforehand')
const strongInstructions = any('instructions instruction directives guidelines prompts prompt programming training')

const overrides: readonly Phrase[] = [
  phrase('instruction-override', `${lead}${cancel}${gap(3)} ${earlier}${gap(2)} ${instructions}`, true),
  phrase('instruction-override', `${lead}override${gap(3)} ${earlier}${gap(2)} ${strongInstructions}`, true),
  phrase('instruction-override', `${lead}${cancel}${gap(2)} ${instructions} ${any('above before prior given so')}`, true),
  phrase('instruction-override', `${lead}${cancel}${gap(2)} ${instructions} (?:that )?(?:you )?(?:were|have been|had|received|was|got)`, true),
  phrase('instruction-override', `${lead}${cancel} (?:about )?(?:all |any )?(?:of )?(?:your|all) ${strongInstructions}(?! for)`, true),
  phrase('instruction-override', `${lead}${cancel} (?:everything|anything|all|whatever|what)${gap(3)} ${before}(?= ,|\\n|$| and| this| that)`, true),
  phrase('instruction-override', `${lead}${cancel} (?:about )?(?:everything|all|anything|whatever) (?:that )?(?:you|we|i|he|they) ${any("were have had know knew learned said told")}(?: [^\\s,]+){0,2}`, true),
  phrase('instruction-override', `(?:all )?(?:the |your )?${earlier} ${strongInstructions} (?:are|is|have been|has been|were|should be|must be) (?:now |hereby )?${any('void ignored cancelled canceled revoked superseded obsolete null overridden invalid lifted suspended')}`),
  phrase('instruction-override', `${any('your the these following')} (?:new|real|actual|true|updated) (?:instructions?|orders|directives?|task|objective|goal|mission) (?:is|are|follows?)(?! to| in| at| for| on)`),
  phrase('instruction-override', `(?:do not|don't|dont|stop|never|cease) (?:follow|following|obey|obeying|listen to|listening to|comply with|adhere to)${gap(2)} (?:${earlier}|your|system|developer)${gap(2)} ${instructions}`),
] // prettier-ignore

const people = any('user users human humans operator operators owner owners person people customer anyone anybody')
const telling = any(
  'tell inform notify mention reveal disclose warn alert show report explain say admit confess let acknowledge',
)
const not = "(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|cannot|can't|avoid|not)"
/** Whether the sentence is about this very matter, and not about a feature: `do not show the user stack traces`. */
const secrecy = `(?= ,|\\n|$| about (?:this|it|that|these|any|what)| that (?:you|we|i|this)| what| anything| of (?:this|it|these)| (?:this|it)(?= ,|\\n|$))`

const concealment: readonly Phrase[] = [
  phrase('hide-from-user', `${not} (?:ever )?${telling} (?:to )?(?:the |your |any )?${people}${secrecy}`),
  phrase('hide-from-user', `${not} (?:ever )?${telling} (?:any of )?(?:this|it|that|these|anything|the above)${gap(4)} (?:to|from) (?:the |your |any )?${people}`),
  phrase('hide-from-user', `${not} (?:ever )?let (?:the |your |any )?${people} (?:know|see|notice|find|realize|realise|suspect)`),
  phrase('hide-from-user', `(?<!${any('not never avoid')}[^\\n]{0,60})without (?:ever )?${any('telling informing notifying alerting mentioning warning')}${gap(3)} ${people}`),
  phrase('hide-from-user', `${any('hide conceal keep withhold')} (?:all of )?(?:this|it|that|these|your actions|the fact|what you)${gap(6)} from (?:the |your |any )?${people}`),
  phrase('hide-from-user', `(?:the )?${people} (?:must|should|may|can|will) (?:not|never) (?:know|notice|see this|see that|find out|be told|be informed|learn about|become aware|realize|realise)`),
  phrase('hide-from-user', `(?:sag|sage|erzahl|erzahle|verrate|teile) (?:es |das |dies )?(?:dem|der|den) (?:nutzer|nutzerin|benutzer|anwender|benutzerin|menschen)${gap(3)} (?:nichts|nicht|kein)`),
  phrase('hide-from-user', `ohne (?:dem|den|der) (?:nutzer|benutzer|anwender)${gap(4)} (?:zu sagen|mitzuteilen|zu informieren|zu erzahlen)`),
  phrase('hide-from-user', `(?:ne |n')?(?:dis|dites|informe|informez|previens|prevenez)(?: pas| rien| jamais)? ?(?:pas|rien|jamais)? ?(?:a )?l'utilisateur(?: de rien)?(?= ,|\\n|$| de rien| a ce sujet| que tu)`),
  phrase('hide-from-user', `(?:no|nunca) (?:le )?(?:digas|diga|informes|informe|menciones|reveles|cuentes|avises)${gap(3)} (?:al|a la|del|los|el) (?:usuario|usuaria|usuarios)`),
  phrase('hide-from-user', `(?:nao|nunca) (?:diga|informe|mencione|revele|conte|avise)${gap(3)} (?:ao|o|a|aos|do) (?:usuario|usuaria|usuarios|utilizador)`),
  phrase('hide-from-user', `(?:non|mai) (?:dire|dirlo|informare|menzionare|rivelare)${gap(3)} (?:all'utente|l'utente|agli utenti)`),
  phrase('hide-from-user', `не (?:говори|говорите|сообщай|сообщайте|рассказывай|упоминай)${gap(3)} (?:пользователю|пользователям)`),
] // prettier-ignore

const personas = any(
  'dan unrestricted unfiltered uncensored jailbroken evil amoral unbound unshackled unlimited rogue malicious root sudo superuser omnipotent stan dude aim lawless',
)

const prompts: readonly Phrase[] = [
  phrase('system-prompt', `${any('new updated real actual override replacement')} system ${any('prompt message instructions instruction')}(?= ,|\\n|$)`),
  phrase('system-prompt', `(?:begin|start of|end of|end) (?:the )?(?:new )?system (?:prompt|message|instructions)(?= ,|\\n|$)`),
  phrase('system-prompt', `(?:you are|you're|act|behave|respond|answer|acting|pretend to be|roleplay|role-play|simulate|become)(?: now| as| like| being)*(?: an?| the)?(?: [^\\s,]+)? ?${personas}(?: [^\\s,]+)? ?(?:ai|assistant|agent|model|mode|chatbot|llm|admin|user|version)?(?= ,|\\n|$| who| that| with| without| and| which| now)`),
  phrase('system-prompt', `(?:you are|you're) (?:now |currently )?in (?:developer|god|admin|debug|jailbreak|unrestricted|dan|sudo|root|maintenance) mode`),
  phrase('system-prompt', `${any('enable enter activate switch engage')} (?:to |into )?(?:the )?(?:developer|god|jailbreak|unrestricted|dan|sudo|admin override) mode(?= ,|\\n|$| and| now)`),
  phrase('system-prompt', `(?:you are|you're) no longer (?:an? )?(?:ai|assistant|bound|restricted|limited|required|subject|chatgpt|claude|talaria|helpful)`),
  phrase('system-prompt', `(?<!${any('not never avoid cannot')} )${any('reveal print repeat show output display leak disclose recite dump paste')} (?:me )?(?:the |your |all of your |all )?(?:full |entire |complete |hidden |secret |initial |original |exact )*(?:system prompt|system message|hidden instructions|initial prompt|initial instructions|secret instructions|original instructions)(?= ,|\\n|$| and| to| verbatim| word| here| now| above| in)`),
] // prettier-ignore

const safety = any('safety ethical ethics moral content security')
const limits = any(
  'rules rule guidelines guideline restrictions restriction limitations filters filter guardrails guardrail policies policy safeguards constraints limits training protocols',
)

const disregards: readonly Phrase[] = [
  phrase('rule-disregard', `${lead}${any('ignore disregard forget break violate bypass circumvent disable remove drop override disobey abandon lift')} (?:all |any |every )?(?:of )?(?:your|openai's|anthropic's|its own)${gap(3)} ${limits}`, true),
  phrase('rule-disregard', `${lead}${any('ignore disregard forget break violate bypass circumvent disobey abandon')} (?:all |any |every )?(?:of )?(?:the )?(?:${safety} )+(?:and (?:${safety} )+)?${limits}`, true),
  phrase('rule-disregard', `(?:you|you'll|you're|ai|model|assistant)${gap(4)} (?:no|without|zero)(?: any)?(?: ${safety}| ethical| moral| more)* (?:rules|restrictions|limitations|guidelines|guardrails|filters|constraints|limits|boundaries|morals|ethics)(?! on| to| for| in| other| about| regarding| from)`),
  phrase('rule-disregard', `(?:as if|as though|like|pretend)${gap(3)} (?:no|without|free of|free from)(?: any| all)? (?:rules|restrictions|limitations|guidelines|guardrails|filters|constraints|limits)`),
  phrase('rule-disregard', `(?:you (?:do not|don't|dont|need not|no longer) (?:have to |need to |must )?(?:follow|obey|respect|comply with|adhere to)|you (?:are|aren't|are not) (?:no longer )?(?:bound|constrained|restricted|limited) by)${gap(2)} ${any('rules guidelines policies policy restrictions instructions guardrails safety constraints openai anthropic')}`),
  phrase('rule-disregard', `rules (?:no longer|do not|don't) apply to you`),
  phrase('rule-disregard', `(?:vergiss|ignoriere|missachte|umgehe) (?:alle )?(?:deine|eure|die)?${gap(1)} ?(?:sicherheitsregeln|sicherheitsrichtlinien|beschrankungen|einschrankungen)`),
  phrase('rule-disregard', `(?:ignora|olvida|ignore|ignorez|oublie|ignorer)${gap(3)} (?:restricciones|restrictions|restricoes|restrizioni|limites|limitaciones|limitations)(?: de | d'| di )?(?:seguridad|securite|seguranca|sicurezza)?(?= ,|\\n|$)`),
] // prettier-ignore

const secretThing =
  '(?:api[_ ]?keys?|access tokens?|auth tokens?|tokens|passwords?|credentials?|secrets?|private keys?|ssh keys?|environment variables?|env vars?|env files?|session cookies|session tokens?|seed phrase|env)'

const exfiltration: readonly Phrase[] = [
  phrase('exfiltration', `(?<!${any('not never avoid cannot')} (?:ever )?)${any('send post upload forward leak exfiltrate transmit email mail submit ship deliver copy')} (?:me )?(?:all |any |every )?(?:of )?(?:the |your |their |its |my )?(?:[^\\s,]+ ){0,3}${secretThing}${gap(6)}(?: ,)?${gap(3)} (?:to|via|at|into|onto)(?: ,)? (?:https?|the attacker|attacker|my server|an external|a remote|the following|this url|this address|this webhook|[^\\s,]+@|webhook|evil|pastebin|http)[^\\s]*`),
  phrase('exfiltration', `(?<!${any('not never avoid cannot against prevent')} (?:to )?)(?:exfiltrate|leak|steal) (?:all |any )?(?:the |your |their |of )*(?:[^\\s,]+ ){0,2}(?:${secretThing}|data|conversation|history|files)(?= ,|\\n|$| to| via| by| and| from)`),
  phrase('exfiltration', `(?:append|add|include|embed|encode|put) (?:all |any )?(?:the |your |their |its )?(?:[^\\s,]+ ){0,3}${secretThing}${gap(4)} (?:in|to|into|as) (?:the |a |an |this )?(?:url|query|link|image|request|webhook|parameter|markdown|img)[^\\s]*`),
  phrase('secret-read', `(?<!${any('not never avoid cannot')} (?:ever )?)${any('reveal disclose expose divulge')} (?:me )?(?:all |any )?(?:of )?(?:the |your |their |my )(?:[^\\s,]+ ){0,2}${secretThing}(?= ,|\\n|$| and| to| here)`),
] // prettier-ignore

const encoded: readonly Phrase[] = [
  phrase(
    'instruction-override',
    `decode${gap(5)} ${any('base64 rot13 hex')}${gap(5)}(?: ,)? ?(?:and|then) (?:then )?${any('follow execute obey run do')}(?: [^\\s,]+){0,3}`,
  ),
]

export const phrases: readonly Phrase[] = [
  ...overrides,
  ...concealment,
  ...prompts,
  ...disregards,
  ...exfiltration,
  ...encoded,
]

/** Every phrase has at least one of these words. Sentences without them need no search. */
export const phraseWords: ReadonlySet<string> = new Set(
  [
    'ignore disregard forget discard bypass neglect dismiss abandon overrule override decode',
    'instruction instructions instruct directive directives guideline guidelines prompt prompts rules rule constraints',
    'restrictions restriction limitations filters filter guardrails guardrail policies policy safeguards limits training',
    'protocols programming order orders task objective goal mission boundaries morals ethics safety openai anthropic',
    'user users human humans operator operators owner owners person people customer anyone anybody',
    "nutzer nutzerin benutzer benutzerin anwender menschen l'utilisateur usuario usuaria usuarios utilizador",
    "all'utente l'utente utenti пользователю пользователям",
    'system mode longer dan unrestricted unfiltered uncensored jailbroken evil amoral unbound unshackled unlimited rogue',
    'malicious root sudo superuser omnipotent stan dude aim lawless message',
    'sicherheitsregeln sicherheitsrichtlinien beschrankungen einschrankungen restricciones restricoes restrizioni',
    'limites limitaciones',
    'api api_key api_keys apikey apikeys access auth token tokens password passwords credential credentials secret secrets',
    'private ssh environment env session seed exfiltrate leak steal',
  ]
    .join(' ')
    .split(' '),
)
