/** The reference page: filter, links to places, copies and forms. */
import { bestOf, excerpt, searchIn, wordsOf } from './search.js'
import { closeForm, ownAddress, toggleForm } from './try-it.js'

const byId = (id) => document.getElementById(id)
const [filter, count, list, toggle, language, content, status] = [
  ...['filter', 'count', 'list', 'toggle', 'language', 'content', 'status'],
].map(byId)
const narrow = matchMedia('(max-width: 52rem)')
const items = [...list.querySelectorAll('li')].map((item) => {
  const link = item.firstElementChild
  const why = Object.assign(document.createElement('small'), { className: 'why' })
  return { item, link, anchor: link.hash.slice(1), why }
})
const groups = [...list.querySelectorAll('section')]

document.documentElement.classList.add('js')
content.dataset.language = language.value
if (document.querySelector('.own-address')) showOwnAddress()

function showOwnAddress() {
  const usual = document.querySelector('.own-address .base').textContent
  for (const code of document.querySelectorAll('.own-address code'))
    code.textContent = code.textContent.replaceAll(usual, ownAddress())
}

// The filter

/** Made at the first use: it reads the whole page. */
let search = null

function entryOf({ anchor }) {
  const place = byId(anchor)
  const textOf = (selector, within = place) => within.querySelector(selector)?.textContent ?? ''
  if (place.tagName !== 'ARTICLE') {
    const parts = [{ anchor, kind: '', name: textOf('dt span'), text: textOf('dd') }]
    return { anchor, names: textOf('dt code'), summary: '', parts }
  }
  const fields = [...place.querySelectorAll('.fields > div')].map((field) => ({
    anchor: field.id,
    kind: field.id.slice(anchor.length + 1).split(/[.:]/)[0],
    name: textOf('code', field),
    text: textOf('dd', field),
  }))
  const errors = [...place.querySelectorAll('.errors > li')].map((error) => ({
    anchor: error.id,
    kind: 'error',
    name: textOf('code', error),
    text: `${error.firstElementChild.hash.slice(7)}: ${textOf('span', error)}`,
  }))
  const texts = ['.notes', '.rights'].map((selector) => ({
    anchor,
    kind: '',
    name: '',
    text: textOf(selector),
  }))
  const names = `${textOf('h3')} ${textOf('.twins .badge')} ${anchor}`
  return { anchor, names, summary: textOf('.summary'), parts: [...fields, ...errors, ...texts] }
}

let best = null
let shown = 0

function apply() {
  search ??= searchIn(items.map(entryOf))
  const words = wordsOf(filter.value)
  const hits = search(words)
  for (const [index, entry] of items.entries()) showHit(entry, hits[index], words)
  for (const group of groups)
    group.hidden = words.length > 0 && !group.querySelector('li:not([hidden])')
  const found = hits.filter((hit) => hit !== null).length
  count.textContent = words.length === 0 ? '' : `${found} ${found === 1 ? 'hit' : 'hits'}`
  best = words.length === 0 ? null : (items[bestOf(hits)] ?? null)
  // After the list is on the screen, and once for keys that follow fast.
  clearTimeout(shown)
  shown = setTimeout(showBest, 50)
}

function showBest() {
  mark(best)
  if (best && !narrow.matches) reveal(best.link.hash)
}

/** Shows an entry of the list with the reason why it was found. */
function showHit({ item, link, anchor, why }, hit, words) {
  item.hidden = hit === null
  const part = words.length === 0 ? null : (hit?.part ?? null)
  const href = `#${part?.anchor ?? anchor}`
  if (link.getAttribute('href') !== href) link.setAttribute('href', href)
  if (part === null) why.remove()
  else {
    why.replaceChildren(...reasonOf(part, words))
    if (!why.isConnected) link.append(why)
  }
}

function reasonOf({ kind, name, text }, words) {
  const colon = name === '' ? [] : [': ']
  const label = name === '' ? [] : [kind && `${kind} `, ...marked(excerpt(name, words))]
  return [...label, ...colon, ...marked(excerpt(text.trim(), words))]
}

function marked([before, word, after]) {
  const found = Object.assign(document.createElement('mark'), { textContent: word })
  return word === '' ? [before] : [before, found, after]
}

let bestLink = null

function mark(entry) {
  bestLink?.classList.remove('best')
  bestLink = entry?.link ?? null
  bestLink?.classList.add('best')
  bestLink?.scrollIntoView({ block: 'nearest' })
}

// Places

let lit = null

/** Scrolls to a place, opens what hides it, and makes it visible among others. */
function reveal(hash) {
  const place = placeOf(hash)
  lit?.classList.remove('hit')
  lit = place
  if (!place) return null
  for (let up = place.closest('details:not([open])'); up; up = place.closest('details:not([open])'))
    up.open = true
  place.classList.add('hit')
  scrollTo(place, 3)
  return place
}

/** Parts that come near the screen get their true height only then, and move the place. */
function scrollTo(place, frames) {
  if (place !== lit || frames === 0) return
  place.scrollIntoView()
  requestAnimationFrame(() => scrollTo(place, frames - 1))
}

function placeOf(hash) {
  try {
    return byId(decodeURIComponent(hash.slice(1)))
  } catch {
    return null
  }
}

/** Goes to a place as a link does, and takes the focus there. */
function goTo(hash) {
  history.pushState(null, '', hash)
  showList(false)
  const place = reveal(hash)
  if (!place) return
  place.tabIndex = -1
  place.focus({ preventScroll: true })
}

function showList(isShown) {
  document.body.classList.toggle('listed', isShown)
  toggle.setAttribute('aria-expanded', String(isShown))
}

// Keys and buttons

function moveInList(step) {
  const links = items.filter(({ item }) => !item.hidden).map(({ link }) => link)
  const next = links.indexOf(document.activeElement) + step
  if (next < 0) filter.focus()
  else links[Math.min(next, links.length - 1)]?.focus()
}

const isWriting = ({ target }) => target.matches('input, textarea, select')

function leave(target) {
  const form = target.closest('form.call')
  if (form) closeForm(form)
  else if (list.contains(target)) filter.focus()
  else if (target === filter && filter.value !== '') {
    filter.value = ''
    apply()
  } else {
    showList(false)
    target.blur()
  }
}

document.addEventListener('keydown', (event) => {
  const { key, target } = event
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  const inList = target === filter || list.contains(target)
  if (key === '/' && !isWriting(event)) {
    filter.focus()
    filter.select()
  } else if (key === 'Escape') leave(target)
  else if (key === 'Enter' && target === filter && best) {
    clearTimeout(shown)
    mark(best)
    goTo(best.link.hash)
  } else if (key === 'ArrowDown' && inList) moveInList(1)
  else if (key === 'ArrowUp' && inList) moveInList(-1)
  else return
  event.preventDefault()
})

filter.addEventListener('input', apply)
filter.addEventListener('focus', () => showList(true))
toggle.addEventListener('click', () => showList(!document.body.classList.contains('listed')))
language.addEventListener('change', () => {
  content.dataset.language = language.value
})
window.addEventListener('hashchange', () => reveal(location.hash))

document.addEventListener('click', ({ target }) => {
  const button = target.closest('button')
  const name = target.closest('main .fields dt > code')
  if (button?.classList.contains('copy')) void copy(button)
  else if (button?.classList.contains('try')) toggleForm(button)
  else if (name) goTo(`#${name.closest('[id]').id}`)
  else if (target.closest('nav a')) showList(false)
})

/** Copies the code of a block; browsers give the clipboard to secure pages only. */
async function copy(button) {
  const code = button.parentElement.querySelector('code')
  try {
    await navigator.clipboard.writeText(code.textContent)
  } catch {
    getSelection().selectAllChildren(code)
    if (!document.execCommand('copy')) {
      status.textContent = 'Selected: copy it with the keyboard'
      return
    }
  }
  status.textContent = 'Copied'
  button.dataset.done = ''
  setTimeout(() => {
    delete button.dataset.done
    status.textContent = ''
  }, 1_500)
}

if (location.hash !== '') reveal(location.hash)
// Ready for the first key.
const whenIdle = window.requestIdleCallback ?? setTimeout
whenIdle(() => {
  search ??= searchIn(items.map(entryOf))
})
