const filter = document.getElementById('filter')
const count = document.getElementById('count')
const entries = [...document.querySelectorAll('[data-search]')]
const groups = [...document.querySelectorAll('nav section, main section.tag')].filter((group) =>
  group.querySelector('[data-search]'),
)
function apply() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
  for (const entry of entries)
    entry.hidden = !words.every((word) => entry.dataset.search.includes(word))
  for (const group of groups) group.hidden = !group.querySelector('[data-search]:not([hidden])')
  const shown = document.querySelectorAll('article:not([hidden])').length
  count.textContent = words.length === 0 ? '' : shown + (shown === 1 ? ' operation' : ' operations')
}
function reveal() {
  const target =
    location.hash === ''
      ? null
      : document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!target?.closest('[hidden]')) return
  filter.value = ''
  apply()
  target.scrollIntoView()
}
filter.addEventListener('input', apply)
window.addEventListener('hashchange', reveal)
apply()
