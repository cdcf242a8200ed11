/** The part of the reference page for one operation. */
import { callerRules, groupRights, type Operation, operations } from '@hermod/protocol'
import type { ReferenceField, ReferenceOperation, ReferenceRequest } from '@hermod/protocol/openapi'
import { clientCall, fetchCall, written } from './calls.js'
import { fieldList } from './fields.js'
import { anchor, codeBlock, escapeHtml, paragraphs } from './html.js'

const definitions = new Map<string, Operation>(operations.map((each) => [each.id, each]))

/** Longer answers than this many lines are folded. */
const foldAbove = 14

export function operationArticle(described: ReferenceOperation): string {
  const { id, method, methods, path, summary, notes, planned } = described
  const twins = methods.filter((each) => each !== method)
  const operation = definitions.get(id)
  if (operation === undefined) throw new Error(`no operation ${id}`)
  return `<article id="${anchor(id)}" aria-labelledby="${anchor(id)}:title">
<h3 id="${anchor(id)}:title" tabindex="-1">${methodBadge(method)} <a href="#${anchor(id)}"><code>${escapeHtml(path)}</code></a>${planned ? ' <span class="badge status">planned</span>' : ''}</h3>
<p class="summary">${escapeHtml(summary)}</p>
${notes === '' ? '' : `<div class="notes">${paragraphs(notes)}</div>`}
${twins.length === 0 ? '' : `<p class="twins">Also as ${twins.map(methodBadge).join(' ')}, which does the same.</p>`}
${planned ? '<p class="note">Not available yet in this version: answers code 50100.</p>' : ''}
${rightsList(described, operation)}
${fieldList('Query parameters', `${id}:query`, described.query)}
${fieldList('Body', `${id}:body`, described.body)}
${described.answersFile ? '<h4>Answer</h4><p>The file itself, or the envelope of a failure.</p>' : fieldList('Answer', `${id}:answer`, described.answer)}
${operationErrors(described)}
<h4>Example</h4>
${exampleCalls(described, operation)}
${exampleAnswer(described)}
${tryButton(described, operation)}
</article>`
}

export function methodBadge(method: string): string {
  return `<span class="badge ${escapeHtml(method.toLowerCase())}">${escapeHtml(method)}</span>`
}

function rightsList(described: ReferenceOperation, operation: Operation): string {
  const { id, callers, headers } = described
  const { scopes, right } = operation
  const admitted = callerRules[operation.callers].description
  const rows = [
    // The callers of the document, unless its sentence about scopes follows as a row.
    ['Callers', escapeHtml(scopes.length > 0 ? admitted : callers)],
    ...(scopes.length === 0
      ? []
      : [
          [
            'Scopes of an Admin token',
            scopes.map((scope) => `<code>${scope}</code>`).join(' and '),
          ],
        ]),
    ...(right === undefined
      ? []
      : [['Right in the group', escapeHtml(`${right} (${groupRights[right].meaning})`)]]),
    ...(headers.length === 0 ? [] : [['Headers', headers.map(headerLink).join(', ')]]),
    ['Operation', `<code>${escapeHtml(id)}</code>`],
  ]
  return `<dl class="rights">${rows.map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join('')}</dl>`
}

function headerLink({ path }: ReferenceField): string {
  return `<a href="#header-${anchor(path)}"><code>${escapeHtml(path)}</code></a>`
}

function operationErrors({ id, errors }: ReferenceOperation): string {
  if (errors.length === 0) return ''
  const items = errors.map(
    ({ name, code, text }) =>
      `<li id="${anchor(`${id}:error.${code}`)}"><a href="#error-${anchor(name)}"><code>${code}</code></a> <span>${escapeHtml(text)}</span></li>`,
  )
  return `<h4>Errors</h4><ul class="errors">${items.join('')}</ul>`
}

/** The call in each language; where the client lacks it, fetch stands for both. */
function exampleCalls(described: ReferenceOperation, operation: Operation): string {
  const call = clientCall(described, operation)
  const onSocket = operation.socket === 'only'
  return [
    onSocket ? '' : codeBlock('curl', 'curl', described.example),
    onSocket
      ? ''
      : codeBlock(
          call === null ? 'ts client' : 'ts',
          'TypeScript, fetch',
          fetchCall(described, operation),
        ),
    call === null
      ? ''
      : codeBlock(onSocket ? 'curl ts client' : 'client', 'TypeScript, @hermod/client', call),
  ].join('\n')
}

function exampleAnswer({ answerExample }: ReferenceOperation): string {
  if (answerExample === undefined) return ''
  const text = written(answerExample, 'json')
  const block = codeBlock('answer', 'Answer', text)
  const lines = text.split('\n').length
  return lines > foldAbove
    ? `<details><summary>Example of the answer (${lines} lines)</summary>${block}</details>`
    : block
}

/** The form of a call, which the script of the page makes when the button is pressed. */
interface CallForm {
  readonly method: string
  readonly path: string
  /** Headers that the operation takes, without the one of the content type. */
  readonly headers: readonly string[]
  readonly query: readonly { name: string; required: boolean; example: string }[]
  readonly values: Readonly<Record<string, unknown>>
  readonly token: ReferenceRequest['token']
  readonly body?: string
  readonly file?: true
}

function tryButton(described: ReferenceOperation, operation: Operation): string {
  const { method, path, planned, request } = described
  if (planned) return ''
  if (operation.socket === 'only')
    return '<p class="note">This call is for the WebSocket only, so it cannot be tried here.</p>'
  const form: CallForm = {
    method,
    path,
    headers: described.headers.map(({ path: name }) => name),
    values: request.headers,
    // Credentials go in headers, so that they are in no address.
    query: described.query
      .filter(({ path: name }) => name !== 'access-token' && name !== 'app_id')
      .map(({ path: name, required }) => ({
        name,
        required,
        example: request.query[name] === undefined ? '' : String(request.query[name]),
      })),
    token: request.token,
    ...(request.body !== undefined && { body: written(request.body, 'json') }),
    ...(operation.takesFile && { file: true as const }),
  }
  return `<button type="button" class="try" aria-expanded="false" data-call="${escapeHtml(JSON.stringify(form))}">Try it<span class="unseen"> ${escapeHtml(`${form.method} ${path}`)}</span></button>`
}
