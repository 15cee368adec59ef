/** How unfinished clauses end in a language. Single words are separated by spaces, phrases by `|`. */
export interface Clauses {
  /** Words after which more must follow: conjunctions, articles, prepositions, fillers. */
  readonly words: string;
  /** The same, of several words. */
  readonly phrases?: string;
  /** Whole utterances that end like unfinished ones, but are complete. */
  readonly complete?: string;
  /** First words of a question, at whose end `stranded` may stand. */
  readonly questions?: string;
  /** Those of the words that may end a question: "Where are you from?" */
  readonly stranded?: string;
  /** Whether it is written without spaces: then `words` are what a text ends with. */
  readonly isSpaceless?: boolean;
}

/**
 * The ends of unfinished clauses, by language. Words that end a clause as often as not, such as "on" in "turn it on",
 * are left out: waiting needlessly is worse there than answering early.
 */
export const clauses: Readonly<Record<string, Clauses>> = {
  en: {
    words:
      "and but or nor because 'cause cos if unless until although whether while whereas than a an the my your our their " +
      'its every of to for with from at into onto by about between without during via towards toward per ' +
      "i'm i'd i'll i've we're we'll we'd we've you're they're they'll there's that's it's he's she's let's who's " +
      'gonna wanna gotta very um uh uhm er erm',
    phrases:
      'i mean|and so|so that|such as|as if|even though|even if|in case|as soon as|i want|i need|i would like|i want you|' +
      'i think that|the one that|my name is|my number is|the number is|my address is|my email is|the address is|' +
      'can you|could you|would you|can i|could i|may i|do you|did you|is there|are there|i was|we were|let me|i guess|' +
      'and then|or maybe|but then|because then|the thing is|the problem is|the question is|what i want is',
    complete: "yes i do|that's what it's for|what for|who with|where to|where from",
    questions: "what who whom whose where when why which how what's who's where's",
    stranded: 'of to for with from at by about into',
  },
  es: {
    words:
      'y e o u ni pero porque que si cuando mientras aunque como sino pues el la los las un una unos unas de del a al en ' +
      'con por para sin sobre entre hasta desde hacia según mi mis tu tus su sus nuestro nuestra este esta estos estas ' +
      'muy cada eh em ehm mmm',
    phrases:
      'yo quiero|me gustaría|quisiera|necesito|es que|o sea|así que|ya que|para que|mi nombre es|me llamo|se llama|' +
      'mi número es|mi dirección es|mi correo es|el problema es|puede usted|podría usted|hay un|tengo un|quiero un',
    complete: 'para que|por que|y que|claro que si|que si',
  },
  fr: {
    words:
      'et ou ni mais car donc que qu qui quand si comme lorsque puisque quoique le la l les un une des du de d au aux à en ' +
      'dans avec pour par sur sans chez vers entre mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs ce ' +
      'cet cette ces très chaque j je tu il ils elle elles euh heu hum',
    phrases:
      "je voudrais|j'aimerais|je veux|j'ai besoin|je m'appelle|mon nom est|mon numéro est|mon adresse est|il y a|" +
      "est-ce que|parce que|parce qu|alors que|afin que|pour que|c'est|je suis|pouvez-vous|pourriez-vous|je cherche|" +
      'le problème est|le problème c est',
    complete: "mais si|c'est tout ce qu'il y a|oui je veux|moi si|oui c'est|ben si",
  },
  de: {
    words:
      'und oder aber weil dass wenn ob obwohl sondern denn damit bevor nachdem während sowie der den dem des ein eine ' +
      'einen einem einer eines mein meine meinen meinem meiner dein deine deinen unser unsere unseren kein keine keinen ' +
      'im am vom zum zur beim von bei für ohne durch gegen zwischen seit wegen sehr jeder jede jedes äh ähm öh',
    phrases:
      'ich möchte|ich würde gern|ich würde gerne|ich hätte gern|ich hätte gerne|ich brauche|mein name ist|ich heiße|' +
      'meine nummer ist|meine adresse ist|es gibt|ich bin|können sie|könnten sie|kannst du|könntest du|ich suche|' +
      'so dass|als ob|das problem ist|die frage ist|gibt es|haben sie|und zwar|zum beispiel|in der|in die|mit der|mit dem',
    complete: 'was gibt es|was haben sie|das ist alles was ich brauche|was kannst du',
  },
  pt: {
    words:
      'e ou nem mas porque que se quando enquanto embora como pois o os as um uma uns umas de do da dos das em no na ' +
      'nos nas num numa com por pelo pela pelos pelas para pra pro sem sobre entre até desde meu minha meus minhas seu ' +
      'sua seus suas nosso nossa este esta esse essa cada hum ahn hã éh',
    phrases:
      'eu quero|eu queria|eu gostaria|eu preciso|meu nome é|me chamo|eu me chamo|meu número é|meu endereço é|eu sou|' +
      'o senhor pode|você pode|você poderia|já que|para que|assim que|quer dizer|o problema é|eu tenho|ou a|e a|para a',
    complete: 'por que|para que|como|e o que',
  },
  it: {
    words:
      'e ed o oppure ma però che se quando mentre benché come siccome poiché il lo la i gli le l un uno una di d del dello ' +
      'della dei degli delle a al allo alla ai agli alle da dal dalla dai in nel nello nella nei nelle con col su sul ' +
      'sulla per tra fra senza mio mia miei mie tuo tua tuoi suo sua nostro nostra questo questa ogni ehm cioè quindi',
    phrases:
      "io voglio|vorrei|ho bisogno|mi chiamo|il mio nome è|il mio numero è|il mio indirizzo è|c'è un|io sono|anche se|" +
      'dato che|visto che|in modo che|lei può|potrebbe|può dirmi|il problema è|voglio dire',
    complete: 'e come|e quando|prendo questo|prendo questa|voglio questo|voglio questa|va bene questo|solo questo',
  },
  ja: {
    isSpaceless: true,
    words:
      'は が を に と へ や で けど けれど けれども ので のに ながら たら れば なら として について によって ' +
      'えっと ええと えーと えと あの あのー その そのー まあ なんか それから そして でも だから しかし または あるいは ' +
      'つまり 例えば たとえば もし もしも ということ',
    complete:
      'こんにちは|こんばんは|では|それでは|ありがと|おはよ|ほんとに|本当に|ほんと|もっと|ずっと|すぐに|なるほどなるほど',
  },
  zh: {
    isSpaceless: true,
    words:
      '和 跟 与 與 或 或者 还有 還有 以及 但是 但 可是 不过 不過 因为 因為 所以 如果 要是 虽然 雖然 然后 然後 而且 并且 並且 ' +
      '把 被 从 從 向 比 给 給 为了 為了 关于 關於 就是 那个 那個 这个 這個 呃 额 我想 我要 我想要 我需要 请 請 帮我 幫我 ' +
      '能不能 可不可以 我叫 名字是 号码是 號碼是 地址是 问题是 問題是 一个 一個 我的 你的 比如 例如 除了',
    complete:
      '我要|我想|这个|這個|那个|那個|是我的|这是我的|不是我的|我要这个|我要那个|就是|就是这个|要一个|一个|再来一个|我不想',
  },
  hi: {
    words:
      'और या लेकिन मगर परंतु क्योंकि चूंकि कि अगर यदि जब तब तो जो का के की को ने से में मेरा मेरी मेरे आपका आपकी आपके ' +
      'हमारा हमारी एक बहुत मुझे मैं हम यह वह मतलब यानी अम्म उम',
    phrases: 'के लिए|के बारे में|के साथ|की वजह से|मेरा नाम|मेरा नंबर|मुझे एक|मैं चाहता|मैं चाहती|समस्या यह है कि',
    complete: 'हाँ तो|मुझे|मैं|कोई एक|यह|वह',
  },
  ar: {
    words:
      'و أو لكن ولكن لأن لأنه إن أن إذا لو عندما حتى ثم في من إلى على عن مع بين بدون خلال بعد قبل الذي التي اللي سوف كان ' +
      'كل يعني عشان علشان لما بس إنه أنه اسمي رقمي عنواني أريد اريد',
    phrases: 'أنا أريد|أود أن|من أجل|بسبب|هل يمكنك|هل يمكن|ممكن|المشكلة هي|أحتاج|أحتاج إلى|أبحث عن|على سبيل المثال',
    complete: 'من|بس|ممكن|من بعد|أنا من|لا أريد|ما أريد|مين',
  },
};
