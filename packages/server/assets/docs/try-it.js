/** The form that calls an operation with a token of the reader, which stays in the memory of the page. */
import { indented, requestOf } from './request.js'

/** Longer answers are cut. */
const shownCharacters = 100_000

/** Credentials of all forms. */
const memory = { app_id: 'hermod', 'access-token': '', user_id: '', group_id: '' }

const tokenKinds = {
  user: 'user or Admin token',
  admin: 'Admin token',
  operator: 'operator token',
}

/** Returns the address of the service of this page. */
export function ownAddress() {
  const { origin, pathname } = location
  return origin + pathname.slice(0, pathname.lastIndexOf('/'))
}

/** Shows the form of a button, or hides it. @param {HTMLButtonElement} button */
export function toggleForm(button) {
  const open = button.nextElementSibling
  if (open) closeForm(open)
  else {
    const form = makeForm(JSON.parse(button.dataset.call ?? ''))
    button.after(form)
    button.setAttribute('aria-expanded', 'true')
    form.querySelector('input, textarea, select, button')?.focus()
  }
}

/** Hides a form; its call ends. @param {Element} form */
export function closeForm(form) {
  const button = form.previousElementSibling
  form.dispatchEvent(new Event('close'))
  form.remove()
  button?.setAttribute('aria-expanded', 'false')
  if (button instanceof HTMLElement) button.focus()
}

/** Makes the form of a call, whose members are described in request.js. */
function makeForm(call) {
  const headers = call.headers.map((name) => headerInput(call, name))
  const query = call.query.map(queryInput)
  const body = call.body === undefined ? [] : [bodyInput(call.body)]
  const file = call.file ? [labelled('file', make('input', { type: 'file' }), 'file')] : []
  const send = make('button', { type: 'submit', className: 'send' }, 'Send')
  const result = make('p', { className: 'result' })
  result.setAttribute('role', 'status')
  const answer = make('div', { className: 'response' })
  const form = make(
    'form',
    { className: 'call', autocomplete: 'off' },
    make('p', { className: 'warning' }, warning()),
    ...fieldset('Headers', headers),
    ...fieldset('Query parameters', query),
    ...fieldset('Body', [...body, ...file]),
    send,
    result,
    answer,
  )
  let running = new AbortController()
  form.addEventListener('close', () => running.abort())
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    running.abort()
    running = new AbortController()
    const { signal } = running
    const shown = { result, answer, signal }
    result.textContent = 'Waiting for the answer…'
    answer.replaceChildren()
    callService(
      call,
      { headers: valuesOf(headers), query: valuesOf(query), ...bodyValues(body, file) },
      shown,
    ).catch((error) => signal.aborted || fail(result, error))
  })
  return form
}

function warning() {
  return `This sends a real call to ${ownAddress()}: what it changes stays changed. Credentials stay in the memory of this page until it is closed or loaded again; they are neither stored nor part of an address.`
}

function headerInput(call, name) {
  const isToken = name === 'access-token'
  const kind = isToken && tokenKinds[call.token]
  // No password field: browsers would offer to store it.
  const input = make('input', {
    value: memory[name] || (call.values[name] ?? ''),
    className: isToken ? 'secret' : '',
    autocomplete: 'off',
    spellcheck: false,
  })
  input.setAttribute('autocapitalize', 'off')
  input.addEventListener('input', () => {
    memory[name] = input.value
  })
  return labelled(kind ? `${name}: ${kind}` : name, input, name)
}

/** Optional parameters are empty: their examples may fit no other installation. */
function queryInput({ name, required, example }) {
  const input = make('input', {
    value: required ? example : '',
    placeholder: example,
    autocomplete: 'off',
  })
  return labelled(required ? `${name} (required)` : name, input, name)
}

function bodyInput(text) {
  const rows = Math.min(16, text.split('\n').length + 1)
  return labelled('JSON', make('textarea', { value: text, rows, spellcheck: false }), 'body')
}

const valuesOf = (labels) =>
  Object.fromEntries(labels.map((label) => [label.dataset.name, label.lastElementChild.value]))

function bodyValues([body], [file]) {
  return { body: body?.lastElementChild.value, file: file?.lastElementChild.files[0] }
}

/** Calls the service and shows its answer, also that of a failure. */
async function callService(call, input, { result, answer, signal }) {
  const { url, init } = requestOf(ownAddress(), call, input)
  const start = performance.now()
  const response = await fetch(url, { ...init, signal })
  const type = response.headers.get('content-type') ?? ''
  const isText = /json|^text\//.test(type)
  const content = isText ? await response.text() : await response.blob()
  const time = `${Math.round(performance.now() - start)} ms`
  const facts = [
    `HTTP ${response.status}`,
    time,
    `x-request-id ${response.headers.get('x-request-id')}`,
  ]
  result.className = 'result'
  result.replaceChildren(facts.join(', '))
  if (typeof content !== 'string') answer.append(fileLink(content))
  else {
    if (type.includes('json')) result.append(...codeOf(content, response))
    answer.append(textBlock(type.includes('json') ? indented(content) : content))
  }
}

/** Links the code of a failure to its entry. */
function codeOf(content, response) {
  const { code, message } = parsed(content)
  if (code === 200 || code === undefined) return []
  const known = document.getElementById(`error-${code}`)
  const shown = known ? make('a', { href: `#error-${code}` }, String(code)) : String(code)
  const wait = response.headers.get('retry-after')
  return [
    make(
      'strong',
      { className: 'failure' },
      'Code ',
      shown,
      `: ${message}`,
      wait ? ` (again in ${wait} s)` : '',
    ),
  ]
}

function parsed(content) {
  try {
    return JSON.parse(content) ?? {}
  } catch {
    return {}
  }
}

function textBlock(text) {
  const rest = text.length - shownCharacters
  const cut = rest > 0 ? `${text.slice(0, shownCharacters)}\n… ${rest} more characters` : text
  const copy = make('button', { type: 'button', className: 'copy' }, 'Copy')
  copy.append(make('span', { className: 'unseen' }, ' the answer'))
  return make(
    'figure',
    { className: 'code' },
    make('figcaption', {}, 'Answer'),
    copy,
    make('pre', {}, make('code', {}, cut)),
  )
}

/** Offers a file without its type: an uploaded one could open as a page of this origin. */
function fileLink(file) {
  const saved = new Blob([file], { type: 'application/octet-stream' })
  const link = make('a', { href: URL.createObjectURL(saved), download: '' }, 'Save the file')
  return make('p', {}, `${file.type || 'a file'}, ${file.size} bytes. `, link)
}

function fail(result, error) {
  result.className = 'result failure'
  result.textContent =
    error instanceof TypeError
      ? `No answer: ${error.message}. The service may be down.`
      : error.message
}

function fieldset(name, labels) {
  if (labels.length === 0) return []
  return [make('fieldset', {}, make('legend', {}, name), ...labels)]
}

function labelled(text, input, name) {
  const label = make('label', {}, make('span', {}, text), input)
  label.dataset.name = name
  return label
}

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}
