const words = (list: string): ReadonlySet<string> => new Set(list.split(/\s+/));

/** Abbreviations followed by a name or another word: their dot ends no sentence. Lower case, without the dot. */
const beforeWord = words(
  `mr mrs ms mx dr drs prof st ste rev fr hon pres gov sen rep gen col maj capt cpt lt cmdr sgt cpl pvt adm supt det insp
   messrs mt ft vs viz al approx dept est assn bros eg ie cf resp incl ave blvd rd
   hr fam dipl ing bzw ca evtl ggf inkl exkl zzgl sog vgl usf mind
   mme mmes mlle mgr env
   sra srta dña dra ud uds vd vds av avda tel
   sig sigra dott avv geom rag
   dhr mevr bijv mw drs
   np tzn tj ul
   doç alb yrd
   ул пр пл просп им св тов гр стр см напр
   डॉ प्रो श्री कु सुश्री`,
);

/** Abbreviations only before a number; otherwise words of their own. */
const beforeNumber = words(
  `no nos nr núm num p pp pg pág page vol vols fig figs ch chap sec sect art arts par para eq eqs ex op ver v max min
   jan feb mar apr jun jul aug sep sept oct nov dec tab abs kap str bd z s g ст рис табл гл`,
);

/** Abbreviations that often end a sentence: a capital letter after them decides. */
const atEnd = words('etc inc ltd co corp llc plc jr sr usw enz itd itp vb ff');

/** Those before a name or another word, except in English, where they stand after it or are words. */
const notInEnglish = words('sr srs sres ee');

/** Those of one language before a name or another word. */
const inLanguage: ReadonlyMap<string, RegExp> = new Map([
  ['de', /str$/],
  ['fr', /^pr$/],
]);

/**
 * Whether a word before a dot is an abbreviation in mid-sentence.
 *
 * @param next - The character after the dot and the white space.
 * @param locale - BCP 47. Default: unknown, which is taken for English.
 */
export function isAbbreviation(word: string, next: string, locale: string = 'en'): boolean {
  const key = word.toLowerCase();
  const language = locale.toLowerCase().split(/[-_]/, 1)[0] ?? '';
  if (beforeWord.has(key) || inLanguage.get(language)?.test(key)) return true;
  if (language !== 'en' && notInEnglish.has(key)) return true;
  if (beforeNumber.has(key)) return /\p{N}/u.test(next);
  return atEnd.has(key) && !/\p{Lu}/u.test(next);
}
