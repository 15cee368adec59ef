import { BehaviorSubject, combineLatest, fromEvent, map, startWith, type Observable } from 'rxjs';
import { darkPalette, lightPalette, type Palette } from '../../marbles/palette.ts';

/** What the user may choose. */
const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];
const key = 'rxvoice.theme';
const signs: Readonly<Record<Theme, string>> = { system: '◐', light: '○', dark: '●' };

/** Lets the user choose between light and dark; emits the palette that applies. Hot, the latest first. */
export function themePalette(control: HTMLButtonElement): Observable<Palette> {
  const root = document.documentElement;
  const stored = localStorage.getItem(key);
  const theme$ = new BehaviorSubject<Theme>(themes.find((each) => each === stored) ?? 'system');
  for (const tone of Object.keys(lightPalette) as (keyof Palette)[]) {
    root.style.setProperty(`--${tone}`, `light-dark(${lightPalette[tone]}, ${darkPalette[tone]})`);
  }
  control.addEventListener('click', () => {
    theme$.next(themes[(themes.indexOf(theme$.value) + 1) % themes.length] ?? 'system');
  });
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const systemIsDark$ = fromEvent(dark, 'change').pipe(
    startWith(undefined),
    map(() => dark.matches),
  );
  const palette$ = new BehaviorSubject(lightPalette);
  combineLatest([theme$, systemIsDark$]).subscribe(([theme, systemIsDark]) => {
    localStorage.setItem(key, theme);
    root.style.colorScheme = theme === 'system' ? 'light dark' : theme;
    control.textContent = signs[theme];
    control.setAttribute('aria-label', `Theme: ${theme === 'system' ? 'as the system' : theme}`);
    palette$.next(theme === 'dark' || (theme === 'system' && systemIsDark) ? darkPalette : lightPalette);
  });
  return palette$.asObservable();
}
