/** Scenes in languages other than English. */
import { scene } from './support/scene.ts';

describe('in Spanish', () => {
  scene('"sí" over the end of a question is the answer')`
    locale: es-ES
    model: Hay una a las nueve. ¿La reservo?
    model: Reservada.

    0.00       user: Una mesa, por favor.
    1.45       turn: Una mesa, por favor.
    1.65-3.10  heard: Hay una a las nueve. ¿La rese
    2.90       user: Sí.
    2.90       agent ducks
    3.10       agent pauses
    3.20       agent goes on
    3.20-3.40  heard: rvo?
    3.45       turn: Sí.
    3.61-4.11  heard: Reservada.

    asked: 2
    history:
      user: Una mesa, por favor.
      agent: Hay una a las nueve. ¿La reservo?
      user: Sí.
      agent: Reservada.
  `;

  scene('"espera" cuts, "ajá" does not')`
    locale: es-MX
    model: Uno dos tres cuatro cinco. Seis siete ocho nueve diez. Uno dos tres.

    0.00       user: Cuenta.
    0.55       turn: Cuenta.
    0.75-1.40  heard: Uno dos tres
    1.20       user: Ajá.
    1.20       agent ducks
    1.40       agent pauses
    1.50       agent goes on
    1.50-2.80  heard: cuatro cinco. Seis siete o
    1.75       ignored (backchannel): Ajá.
    2.60       user: ¡Espera!
    2.60       agent ducks
    2.80       agent pauses
    2.90       turn ends (interrupted)
    2.90       agent is cut off
    3.15       turn ends (cancelled)

    asked: 1
    history:
      user: Cuenta.
      agent: Uno dos tres cuatro cinco. Seis siete—
  `;
});

describe('in French', () => {
  scene('"arrêtez" cuts at once')`
    locale: fr-FR
    model: Un deux trois quatre cinq. Six sept huit neuf dix.

    0.00       user: Comptez.
    0.55       turn: Comptez.
    0.75-1.70  heard: Un deux trois quatr
    1.50       user: Arrêtez !
    1.50       agent ducks
    1.70       agent pauses
    1.80       turn ends (interrupted)
    1.80       agent is cut off
    2.35       turn ends (cancelled)

    asked: 1
    history:
      user: Comptez.
      agent: Un deux trois—
  `;

  scene('"d’accord" is no interruption')`
    locale: fr-FR
    model: Un deux trois quatre cinq. Six sept huit neuf dix.

    0.00       user: Comptez.
    0.55       turn: Comptez.
    0.75-1.70  heard: Un deux trois quatr
    1.50       user: D’accord.
    1.50       agent ducks
    1.70       agent pauses
    1.80       agent goes on
    1.80-3.35  heard: e cinq. Six sept huit neuf dix.
    2.05       ignored (backchannel): D’accord.

    asked: 1
    history:
      user: Comptez.
      agent: Un deux trois quatre cinq. Six sept huit neuf dix.
  `;
});

describe('in German', () => {
  scene('"genau" is no interruption; "Moment mal" is one')`
    locale: de-DE
    model: Eins zwei drei vier fünf. Sechs sieben acht neun zehn. Elf zwölf dreizehn.

    0.00       user: Zähl mal.
    0.85       turn: Zähl mal.
    1.05-1.70  heard: Eins zwei dre
    1.50       user: Genau.
    1.50       agent ducks
    1.70       agent pauses
    1.80       agent goes on
    1.80-3.20  heard: i vier fünf. Sechs sieben ac
    2.05       ignored (backchannel): Genau.
    3.00       user: Moment mal.
    3.00       agent ducks
    3.20       agent pauses
    3.30       turn ends (interrupted)
    3.30       agent is cut off
    3.85       turn ends (cancelled)

    asked: 1
    history:
      user: Zähl mal.
      agent: Eins zwei drei vier fünf. Sechs sieben—
  `;

  scene('a final that only adds an umlaut form of the same letters is the same')`
    locale: de-DE
    model: Gebucht.

    0.00       stt voice
    0.80       stt preflight: zurück nach Köln
    0.80       prepares: zurück nach Köln
    1.40       stt final: Zurück nach Köln!
    1.40       turn: Zurück nach Köln!
    1.40       uses what it prepared 0.60 ago
    1.45-1.85  heard: Gebucht.

    asked: 1
    history:
      user: Zurück nach Köln!
      agent: Gebucht.
  `;
});

describe('in Portuguese', () => {
  scene('"para" cuts, and what follows is the question')`
    locale: pt-BR
    model: Um dois três quatro cinco. Seis sete oito nove dez.
    model: Sexta está livre.

    0.00       user: Conta.
    0.55       turn: Conta.
    0.75-1.70  heard: Um dois três quatro
    1.50       user: Para. E na sexta?
    1.50       agent ducks
    1.70       agent pauses
    1.80       turn ends (interrupted)
    1.80       agent is cut off
    2.95       turn: Para. E na sexta?
    3.13-3.98  heard: Sexta está livre.

    asked: 2
    history:
      user: Conta.
      agent: Um dois três quatro—
      user: Para. E na sexta?
      agent: Sexta está livre.
  `;
});

describe('in Italian', () => {
  scene('"va bene" is no interruption, "basta" is one')`
    locale: it-IT
    model: Uno due tre quattro cinque. Sei sette otto nove dieci. Undici dodici.

    0.00       user: Conta.
    0.55       turn: Conta.
    0.75-1.70  heard: Uno due tre quattro
    1.50       user: Va bene.
    1.50       agent ducks
    1.70       agent pauses
    2.10       agent goes on
    2.10-3.40  heard: cinque. Sei sette otto no
    2.35       ignored (backchannel): Va bene.
    3.20       user: Basta!
    3.20       agent ducks
    3.40       agent pauses
    3.50       turn ends (interrupted)
    3.50       agent is cut off
    3.75       turn ends (cancelled)

    asked: 1
    history:
      user: Conta.
      agent: Uno due tre quattro cinque. Sei sette otto—
  `;
});

describe('in Japanese', () => {
  scene('「はい」 over the end of a question is the answer')`
    locale: ja-JP
    model: 九時に空きがございます。こちらのお席をご予約なさいますか？
    model: 承りました。

    0.00       user: 予約したいです
    1.45       turn: 予約したいです
    1.60-2.90  heard: 九時に空きがございます。こちらのお席をご予約なさいま
    2.70       user: はい
    2.70       agent ducks
    2.90       agent pauses
    3.00       agent goes on
    3.00-3.15  heard: すか？
    3.25       turn: はい
    3.41-3.71  heard: 承りました。

    asked: 2
    history:
      user: 予約したいです
      agent: 九時に空きがございます。こちらのお席をご予約なさいますか？
      user: はい
      agent: 承りました。
  `;

  scene('「待って」 cuts at once')`
    locale: ja-JP
    model: 一、二、三、四、五、六、七、八、九、十。それから十一、十二、十三、十四。

    0.00       user: 数えて
    0.85       turn: 数えて
    1.00-1.70  heard: 一、二、三、四、五、六、七、
    1.50       user: 待って
    1.50       agent ducks
    1.70       agent pauses
    1.80       turn ends (interrupted)
    1.80       agent is cut off
    2.35       turn ends (cancelled)

    asked: 1
    history:
      user: 数えて
      agent: 一、二、三、四、五、六、七、—
  `;

  scene('a final「。」 does not drop what was prepared')`
    locale: ja-JP
    model: 晴れです。

    0.00       stt voice
    0.80       stt preflight: 明日の天気は
    0.80       prepares: 明日の天気は
    1.40       stt final: 明日の天気は。
    1.40       turn: 明日の天気は。
    1.40       uses what it prepared 0.60 ago
    1.45-1.70  heard: 晴れです。

    asked: 1
    history:
      user: 明日の天気は。
      agent: 晴れです。
  `;
});

describe('in Chinese', () => {
  scene('「嗯」 is no interruption, 「等一下」 is one')`
    locale: zh-CN
    model: 一二三四五六七八九十。十一十二十三十四十五。十六十七十八十九二十。

    0.00       user: 请数数
    0.85       turn: 请数数
    1.00-1.40  heard: 一二三四五六七八
    1.20       user: 嗯
    1.20       agent ducks
    1.40       agent pauses
    1.50       agent goes on
    1.50-2.60  heard: 九十。十一十二十三十四十五。十六十七十八十九
    1.75       ignored (backchannel): 嗯
    2.40       user: 等一下
    2.40       agent ducks
    2.60       agent pauses
    2.70       turn ends (interrupted)
    2.70       agent is cut off
    3.25       turn ends (cancelled)

    asked: 1
    history:
      user: 请数数
      agent: 一二三四五六七八九十。十一十二十三十四十五。十六十七十八十九—
  `;
});

describe('in Hindi', () => {
  scene('"रुकिए" cuts at once')`
    locale: hi-IN
    model: एक दो तीन चार पाँच। छह सात आठ नौ दस।

    0.00       user: गिनो
    0.55       turn: गिनो
    0.75-1.40  heard: एक दो तीन चार
    1.20       user: रुकिए
    1.20       agent ducks
    1.40       agent pauses
    1.50       turn ends (interrupted)
    1.50       agent is cut off
    1.75       turn ends (cancelled)

    asked: 1
    history:
      user: गिनो
      agent: एक दो तीन चार—
  `;

  scene('a final "।" does not drop what was prepared')`
    locale: hi-IN
    model: धूप है।

    0.00       stt voice
    0.80       stt preflight: मौसम कैसा है
    0.80       prepares: मौसम कैसा है
    1.40       stt final: मौसम कैसा है।
    1.40       turn: मौसम कैसा है।
    1.40       uses what it prepared 0.60 ago
    1.45-1.80  heard: धूप है।

    asked: 1
    history:
      user: मौसम कैसा है।
      agent: धूप है।
  `;
});

describe('in Arabic', () => {
  scene('"نعم" over the end of a question is the answer')`
    locale: ar-EG
    model: لدينا طاولة في التاسعة. هل أحجزها؟
    model: تم الحجز.

    0.00       user: أريد طاولة
    0.85       turn: أريد طاولة
    1.04-2.20  heard: لدينا طاولة في التاسعة.
    2.00       user: نعم
    2.00       agent ducks
    2.20       agent pauses
    2.30       agent goes on
    2.30-2.84  heard: هل أحجزها؟
    2.84       turn: نعم
    3.01-3.46  heard: تم الحجز.

    asked: 2
    history:
      user: أريد طاولة
      agent: لدينا طاولة في التاسعة. هل أحجزها؟
      user: نعم
      agent: تم الحجز.
  `;
});

describe('in Korean, of which it knows no phrases', () => {
  scene('two words cut as ever')`
    locale: ko-KR
    model: 하나 둘 셋 넷 다섯. 여섯 일곱 여덟 아홉 열.
    model: 네.

    0.00       user: 세어 보세요
    0.85       turn: 세어 보세요
    1.05-1.80  heard: 하나 둘 셋 넷 다섯. 여섯
    1.60       user: 잠깐만요 금요일은요
    1.60       agent ducks
    1.80       agent pauses
    2.20       turn ends (interrupted)
    2.20       agent is cut off
    2.45       turn: 잠깐만요 금요일은요
    2.61-2.71  heard: 네.

    asked: 2
    history:
      user: 세어 보세요
      agent: 하나 둘 셋 넷 다섯. 여섯—
      user: 잠깐만요 금요일은요
      agent: 네.
  `;
});

describe('a caller who changes languages', () => {
  scene('is followed', { locale: 'en', followLanguage: true, languages: ['es'] })`
    model: Good evening.
    model: Sí, hasta las diez. Uno dos tres cuatro cinco seis siete ocho nueve diez.

    0.00       user (en): Good evening to you.
    1.45       turn: Good evening to you.
    1.62-2.27  heard: Good evening.
    5.00       user (es): ¿Está abierto el restaurante?
    6.45       language is now: es
    6.45       turn: ¿Está abierto el restaurante?
    6.64-7.70  heard: Sí, hasta las diez. Un
    7.50       user (es): Ajá.
    7.50       agent ducks
    7.70       agent pauses
    7.80       agent goes on
    7.80-10.39 heard: o dos tres cuatro cinco seis siete ocho nueve diez.
    8.05       ignored (backchannel): Ajá.

    asked: 2
    history:
      user: Good evening to you.
      agent: Good evening.
      user: ¿Está abierto el restaurante?
      agent: Sí, hasta las diez. Uno dos tres cuatro cinco seis siete ocho nueve diez.
  `;
});
