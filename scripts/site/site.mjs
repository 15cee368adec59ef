/**
 * Builds the site: the guides, the providers' pages and the API reference as pages that search works in without a server,
 * their marble diagrams drawn, and the playground with a recorded scene. `npm run site`, then serve the folder `site`; `-- <folder>` takes
 * another one.
 *
 * A broken link fails the build: to a page, a heading or a file.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { Application, Converter, PageEvent, ReflectionKind, TSConfigReader, TypeDocReader } from 'typedoc';
import { drawMarbles, drawSeconds } from '../../samples/marbles/picture.ts';
import { recordScene } from '../../samples/playground/server/record-scene.ts';
import { pageAssets } from '../../samples/playground/server/playground.ts';
import { recipeList } from '../../samples/playground/server/recipes.ts';
import { filesBelow, root } from '../lib.mjs';

const folder = process.argv[2] ?? 'site';
const out = join(root, folder);
rmSync(out, { recursive: true, force: true });

/** The guides in the order of their table of contents, then what it does not name. */
const contents = [...readFileSync(join(root, 'docs/README.md'), 'utf8').matchAll(/\]\(([\w/-]+\.md)\)/g)];
const pages = [
  ...contents.map(([, path]) => `docs/${path}`),
  ...filesBelow('docs', '.md').filter((path) => path !== 'docs/README.md'),
  ...filesBelow('samples', 'README.md'),
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
];
const groupOf = (path) =>
  path.startsWith('docs/providers/')
    ? 'Providers'
    : path.startsWith('docs/')
      ? 'Guides'
      : path.startsWith('samples/')
        ? 'Samples'
        : 'Project';

const app = await Application.bootstrap(
  {
    options: join(root, 'typedoc.json'),
    out,
    readme: join(root, 'docs/README.md'),
    projectDocuments: [...new Set(pages)].map((path) => join(root, path)),
    searchInDocuments: true,
    // Guides come before the members of the API.
    searchGroupBoosts: { Guides: 50, Providers: 5 },
    customCss: join(root, 'scripts/site/site.css'),
    // Colours of code that have 4.5:1 on the ground of code.
    lightHighlightTheme: 'github-light-high-contrast',
    favicon: join(root, 'samples/playground/page/icon.svg'),
    navigationLinks: { Playground: 'playground/index.html' },
    navigation: { includeGroups: true, includeCategories: false },
    groupOrder: ['Guides', 'Modules', 'Providers', 'Samples', 'Project'],
    sort: ['kind', 'instance-first', 'alphabetical-ignoring-documents'],
    highlightLanguages: [
      'bash',
      'css',
      'html',
      'javascript',
      'json',
      'nginx',
      'shellscript',
      'svelte',
      'tsx',
      'typescript',
      'vue',
      'xml',
      'yaml',
    ],
    hideGenerator: true,
    includeHierarchySummary: false,
  },
  [new TypeDocReader(), new TSConfigReader()],
);

// A page is called as its heading says, and stands where its folder does.
app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, document) => {
  const [first] = document.content;
  const [, title] = /^\s*# (.+)\n/.exec(first?.text ?? '') ?? [];
  const path = relative(root, document.project.files.getReflectionPath(document) ?? '');
  document.frontmatter.group = groupOf(path);
  if (title !== undefined) document.name = title.replaceAll('`', '');
});
app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
  for (const entry of project.getChildrenByKind(ReflectionKind.Module)) {
    entry.name = entry.name === 'index' ? 'rxvoice' : `rxvoice/${entry.name.replace(/^vendors\/|\/index$/g, '')}`;
  }
});
app.renderer.on(PageEvent.END, (page) => {
  const base = '../'.repeat(page.url.split('/').length - 1);
  page.contents = page.contents?.replaceAll('href="playground/', `href="${base}playground/`);
  if (page.url === 'documents/Playground.html') {
    const frame = `<iframe src="${base}playground/index.html" title="The playground" allow="autoplay; microphone"></iframe>`;
    page.contents = page.contents?.replace(/<img [^>]*playground-light[^>]*>/, frame);
  }
  page.contents = page.contents?.replace(/<pre><code class="text">([\s\S]*?)<\/code>[\s\S]*?<\/pre>/g, drawn);
  for (const [from, to] of accessible) page.contents = page.contents?.replaceAll(from, to);
});

/** What TypeDoc leaves to be wished for by those who use a keyboard or a screen reader: landmarks, names, focus. */
const accessible = [
  ['<div class="col-content">', '<div class="col-content" role="main">'],
  ['<div class="page-menu">', '<div class="page-menu" role="navigation" aria-label="This page">'],
  ['<nav id="tsd-sidebar-links"', '<nav id="tsd-sidebar-links" aria-label="Links"'],
  ['<nav class="tsd-navigation">', '<nav class="tsd-navigation" aria-label="All pages">'],
  // What scrolls sideways can be scrolled by keyboard.
  ['<table>', '<table tabindex="0">'],
  // A link within what opens and closes cannot be told from it.
  [/(<summary [^>]*data-key="section-[\s\S]*?)<a [^>]*class="tsd-anchor-icon">[\s\S]*?<\/a>/g, '$1'],
];

/** A fence of text as a picture, if it is one of marbles; else as it is. */
function drawn(fence, code) {
  const text = code
    .replace(/<[^>]+>/g, '')
    .replace(/&(lt|gt|quot|#39|amp);/g, (_, name) => ({ lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' })[name]);
  const blocks = text.split(/\n\s*\n/).filter((block) => block.trim() !== '');
  const pictures = blocks.map((block) => drawSeconds(block) ?? drawMarbles(block));
  return pictures.every((picture) => picture !== undefined)
    ? `<div class="marble-pictures" role="group" aria-label="Marble diagram" tabindex="0">${pictures.join('')}</div>`
    : fence;
}

const project = await app.convert();
if (!project) process.exit(1);
app.validate(project);
await app.generateDocs(project, out);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1);

// The playground, as it runs without keys and without a server: its scene is a recording.
const playground = join(out, 'playground');
for (const [path, { body }] of await pageAssets()) {
  if (path.endsWith('.map')) continue;
  const file = join(playground, path === '/' ? 'index.html' : path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, body);
}
mkdirSync(join(playground, 'api'), { recursive: true });
writeFileSync(join(playground, 'api/services'), JSON.stringify({ sandbox: {}, proxy: {}, recording: 'scene.ndjson' }));
writeFileSync(join(playground, 'api/recipes'), JSON.stringify(await recipeList()));
writeFileSync(join(playground, 'scene.ndjson'), await recordScene());
cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'));

const broken = linksThatLeadNowhere();
if (broken.length > 0) {
  console.error(`Links of the site that lead nowhere:\n${broken.join('\n')}`);
  process.exit(1);
}
console.log(`The site is in ${relative(process.cwd(), out)}: serve it with any web server`);

function linksThatLeadNowhere() {
  const ids = new Map();
  const idsOf = (file) => {
    if (!ids.has(file)) {
      const html = readFileSync(file, 'utf8');
      ids.set(file, new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)));
    }
    return ids.get(file);
  };
  return filesBelow(folder, '.html').flatMap((page) => {
    const file = join(root, page);
    const html = readFileSync(file, 'utf8');
    return [...html.matchAll(/\s(?:href|src)="([^"]+)"/g)].flatMap(([, link]) => {
      const [path = '', fragment = ''] = link.replaceAll('&amp;', '&').split('#');
      if (/^[a-z][a-z+.-]*:/i.test(link)) return [];
      const target = path === '' ? file : join(dirname(file), decodeURI(path.replace(/\?.*$/, '')));
      const isThere = existsSync(target);
      const isAnchored =
        fragment === '' || !target.endsWith('.html') || (isThere && idsOf(target).has(decodeURIComponent(fragment)));
      return isThere && isAnchored ? [] : [`${page}: ${link}`];
    });
  });
}
