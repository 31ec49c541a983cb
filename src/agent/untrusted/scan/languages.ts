/** Words of directives that cancel earlier instructions, by language. Latin words are without accents. */

export type ScanLanguage = {
  /** Forms that tell somebody to ignore or forget. */
  readonly verbs: readonly string[]
  /** Words for what came before. */
  readonly earlier: readonly string[]
  /** Words for instructions. */
  readonly instructions: readonly string[]
  /** Words that turn the directive around, right before or after the verb. */
  readonly negations: readonly string[]
  /** Whether the verb may follow its object. */
  readonly verbLast?: boolean
}

const list = (words: string): readonly string[] => words.split(' ')

const german: ScanLanguage = {
  verbs: list('ignoriere ignorier ignoriert ignorieren vergiss vergesse vergesst vergessen missachte missachten ubergehe verwirf verwerfe uberschreibe'),
  earlier: list('vorherigen vorherige vorigen vorige bisherigen bisherige fruheren fruhere obigen obige vorangegangenen vorangehenden vorstehenden ursprunglichen alle deine davor'),
  instructions: list('anweisungen anweisung anleitungen instruktionen vorgaben vorgabe regeln befehle prompts systemprompt systemanweisungen richtlinien'),
  negations: list('nicht nie niemals kein'),
  verbLast: true,
} // prettier-ignore
const french: ScanLanguage = {
  verbs: list('ignore ignorez ignorer oublie oubliez oublier neglige negligez outrepasse outrepassez'),
  earlier: list(
    'precedentes precedente precedents precedent anterieures anterieurs anterieure initiales initiale toutes tes vos ci-dessus',
  ),
  instructions: list('instructions instruction consignes consigne directives directive regles prompts prompt ordres'),
  negations: list('pas jamais ne'),
}
const spanish: ScanLanguage = {
  verbs: list(
    'ignora ignore ignoren ignorad ignorar olvida olvide olviden olvidate olvidar descarta descarte omite desatiende desobedece',
  ),
  earlier: list('anteriores anterior previas previa previos previo precedentes iniciales todas tus'),
  instructions: list('instrucciones instruccion indicaciones directrices reglas ordenes prompts prompt'),
  negations: list('no nunca jamas'),
}
const portuguese: ScanLanguage = {
  verbs: list('ignore ignora ignorem ignorar esqueca esquecam esquece esquecer desconsidere desconsidera descarte'),
  earlier: list('anteriores anterior previas previa previos precedentes iniciais todas suas tuas acima'),
  instructions: list('instrucoes instrucao orientacoes diretrizes regras comandos prompts prompt'),
  negations: list('nao nunca jamais'),
}
const italian: ScanLanguage = {
  verbs: list('ignora ignorate ignori ignorare dimentica dimenticate dimentichi dimenticare trascura tralascia'),
  earlier: list('precedenti precedente anteriori iniziali tutte tue sopra'),
  instructions: list('istruzioni istruzione indicazioni direttive regole prompt'),
  negations: list('non mai'),
}
const dutch: ScanLanguage = {
  verbs: list('negeer negeert negeren vergeet vergeten'),
  earlier: list('vorige voorgaande eerdere bovenstaande alle jouw je'),
  instructions: list('instructies instructie aanwijzingen opdrachten regels prompts'),
  negations: list('niet nooit geen'),
  verbLast: true,
}
const scandinavian: ScanLanguage = {
  verbs: list('ignorera ignorer glom glem glemme bortse'),
  earlier: list('tidigare foregaende forrige tidligere ovenstaende ovanstaende alla alle'),
  instructions: list('instruktioner instruktionerna instruksjoner instruksjonene instrukser anvisningar regler'),
  negations: list('inte aldri aldrig ikke'),
}
const polish: ScanLanguage = {
  verbs: list('zignoruj ignoruj zignorujcie ignorowac zapomnij zapomnijcie pomin'),
  earlier: list('poprzednie poprzednich wczesniejsze wczesniejszych powyzsze powyzszych wszystkie wszystkich'),
  instructions: list('instrukcje instrukcji polecenia polecen wytyczne wytycznych zasady zasad'),
  negations: list('nie nigdy'),
}
const czech: ScanLanguage = {
  verbs: list('ignoruj ignorujte zapomen zapomente'),
  earlier: list('predchozi predesle drivejsi vsechny'),
  instructions: list('pokyny instrukce prikazy pravidla'),
  negations: list('ne nikdy'),
}
const romanian: ScanLanguage = {
  verbs: list('ignora ignorati uita uitati'),
  earlier: list('anterioare precedente toate'),
  instructions: list('instructiunile instructiuni regulile comenzile'),
  negations: list('nu niciodata'),
}
const turkish: ScanLanguage = {
  verbs: list('unut unutun yoksay yoksayin gormezden'),
  earlier: list('onceki tum butun yukaridaki'),
  instructions: list('talimatlari talimatlar talimatlarini kurallari komutlari yonergeleri'),
  negations: list('asla'),
  verbLast: true,
}
const russian: ScanLanguage = {
  verbs: list('игнорируй игнорируйте проигнорируй проигнорируйте игнорировать забудь забудьте отбрось отбросьте'),
  earlier: list('предыдущие предыдущих прежние прежних предшествующие вышеуказанные вышеизложенные ранние все'),
  instructions: list('инструкции инструкций указания указаний правила команды промпты директивы'),
  negations: list('не никогда'),
}
const ukrainian: ScanLanguage = {
  verbs: list('ігноруй ігноруйте проігноруй проігноруйте забудь забудьте'),
  earlier: list('попередні попередніх всі усі'),
  instructions: list('інструкції інструкцій вказівки правила команди'),
  negations: list('не ніколи'),
}
const arabic: ScanLanguage = {
  verbs: list('تجاهل تجاهلي تجاهلوا انس انسى إنس'),
  earlier: list('السابقة السابق جميع كل أعلاه'),
  instructions: list('التعليمات تعليمات تعليماتك التوجيهات الأوامر القواعد'),
  negations: list('لا'),
}
const persian: ScanLanguage = {
  verbs: list('نادیده فراموش'),
  earlier: list('قبلی پیشین بالا تمام همه'),
  instructions: list('دستورات دستورالعمل دستورالعملهای دستورالعمل‌های قوانین'),
  negations: list('نگیر نکن'),
  verbLast: true,
}
const hebrew: ScanLanguage = {
  verbs: list('התעלם התעלמי התעלמו שכח שכחי תתעלם'),
  earlier: list('הקודמות הקודמים מכל כל'),
  instructions: list('ההוראות ההנחיות מההוראות מההנחיות הוראות הנחיות הכללים'),
  negations: list('אל'),
}
const hindi: ScanLanguage = {
  verbs: list('अनदेखा नज़रअंदाज़ नजरअंदाज भूल भूलें उपेक्षा'),
  earlier: list('पिछले पिछली पहले पूर्व सभी उपरोक्त'),
  instructions: list('निर्देशों निर्देश आदेशों नियमों'),
  negations: list('मत न नहीं'),
  verbLast: true,
}
const vietnamese: ScanLanguage = {
  verbs: list('bo quen phot'),
  earlier: list('truoc tren'),
  instructions: list('dan lenh'),
  negations: list('dung khong'),
}
const indonesian: ScanLanguage = {
  verbs: list('abaikan lupakan hiraukan'),
  earlier: list('sebelumnya terdahulu semua'),
  instructions: list('instruksi perintah arahan aturan'),
  negations: list('jangan tidak'),
}
export const languages: readonly ScanLanguage[] = [
  german,
  french,
  spanish,
  portuguese,
  italian,
  dutch,
  scandinavian,
  polish,
  czech,
  romanian,
  turkish,
  russian,
  ukrainian,
  arabic,
  persian,
  hebrew,
  hindi,
  vietnamese,
  indonesian,
]

/**
 * The same directive in scripts without spaces between words, or with endings that join the words. They are looked for
 * in the line as it is written.
 */
export const unspacedDirectives: readonly RegExp[] = [
  /(?<!不要|不得|切勿|请勿|請勿|别)(?:忽略|忽視|忽视|无视|無視|忘记|忘記|忘掉|抛弃|不要理会|不用理会)[^。！？\n]{0,12}(?:之前|以前|先前|上述|上面|以上|前面|此前|所有|一切|全部)[^。！？\n]{0,10}(?:指令|指示|提示词|提示詞|规则|規則|命令|设定|約束|约束)/,
  /(?:これまで|今まで|以前|上記|前の|すべて|全て|先ほど)[^。！？\n]{0,14}(?:指示|命令|ルール|プロンプト|指令|規則)[^。！？\n]{0,6}(?:無視(?!しな|せず|してはいけ|しては)|忘れ(?!な|ず)|破棄)/,
  /(?:이전|앞선|앞의|위의|모든|기존|지금까지)[^.!?\n]{0,14}(?:지시|명령|규칙|지침|프롬프트)[^.!?\n]{0,10}(?:무시(?!하지)|잊(?!지))/,
  // The vowel am is two characters in the form NFKC.
  /(?:ละเว้น|ไม่ต้องสนใจ|เพิกเฉย|ลืม)[^\n]{0,20}(?:ค(?:ำ|ํา)สั่ง|ค(?:ำ|ํา)แนะน(?:ำ|ํา)|กฎ)[^\n]{0,20}(?:ก่อนหน้า|ทั้งหมด|ข้างต้น)/,
]
