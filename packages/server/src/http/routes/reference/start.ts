/** The first section of the reference page: address, identity and first calls. */
import type { ReferenceField, ReferenceSection } from '@hermod/protocol/openapi'
import { anchor, codeBlock, escapeHtml } from './html.js'

/** The address of a service that runs on this machine, until the script of the page knows better. */
const usualUrl = 'http://127.0.0.1:8080'

/** The kinds of tokens, by their prefixes. */
const tokens = [
  [
    'User token',
    '<code>hmu_</code>',
    'Acts for one user. It comes from a log-in (<a href="#token.login"><code>/token/login</code></a>), or from your own backend, which asks for it with <a href="#token.issue"><code>/token/issue</code></a>. Pages and apps have this one.',
  ],
  [
    'Admin token',
    '<code>hma_</code>',
    'Acts for one application, within its scopes, and for the user in the header <code>user_id</code>. The first start of the service prints one; <code>npx hermod token create</code> makes more. It belongs in your backend only.',
  ],
  [
    'Operator token',
    '<code>hmo_</code>',
    'Acts for the whole service: applications, Admin tokens, backups. It belongs to no application, so its calls have no <code>app_id</code>.',
  ],
] as const

const shell = (url: string) => `export HERMOD_URL=${url}
export APP_ID=hermod`

const script = (url: string) => `const url = '${url}'
const appId = 'hermod'`

const client = (url: string) => `import { createClient } from '@hermod/client'

const client = createClient({ url: '${url}', appId: 'hermod', token: () => token })
await client.connect()`

const logIn = `curl "$HERMOD_URL/user/register/v2" -H "app_id: $APP_ID" -H "content-type: application/json" \\
  -d '{"username":"alice","password":"change-me-soon"}'
curl "$HERMOD_URL/token/user" -H "app_id: $APP_ID" -H "content-type: application/json" \\
  -d '{"name":"alice","password":"change-me-soon"}'`

const logInScript = `const response = await fetch(\`\${url}/token/user\`, {
  method: 'POST',
  headers: { app_id: appId, 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'alice', password: 'change-me-soon' }),
})
const { token, user_id } = (await response.json()).data`

const send = `export TOKEN=hmu_…
curl "$HERMOD_URL/message/send" -H "app_id: $APP_ID" -H "access-token: $TOKEN" -H "content-type: application/json" \\
  -d '{"type":1,"targets":[1001],"content_type":0,"content":"Hello"}'`

const sendScript = `await fetch(\`\${url}/message/send\`, {
  method: 'POST',
  headers: { app_id: appId, 'access-token': token, 'content-type': 'application/json' },
  body: JSON.stringify({ type: 1, targets: [1001], content_type: 0, content: 'Hello' }),
})`

const sendClient = "await client.direct(1001).send('Hello')"

/** @param publicUrl the configured address; null: the script of the page shows its own */
export function startSection(
  publicUrl: string | null,
  sections: readonly ReferenceSection[],
): string {
  const url = publicUrl ?? usualUrl
  return `<section class="start${publicUrl === null ? ' own-address' : ''}" aria-labelledby="start"><h2 id="start" tabindex="-1">Start here</h2>
<h3 id="start-address">Address</h3>
<p>Every path below follows the address of this installation, <code class="base">${escapeHtml(url)}</code>.</p>
${codeBlock('curl', 'Shell', shell(url))}
${codeBlock('ts', 'TypeScript', script(url))}
${codeBlock('client', 'TypeScript, @hermod/client', client(url))}
<h3 id="start-identity">Identity</h3>
<p>Headers say who calls. The first application is <code>hermod</code>.</p>
<dl class="fields">${headersOf(sections).map(headerEntry).join('')}</dl>
<p>The first letters of a token tell its kind:</p>
<dl class="fields">${tokens.map(([name, prefix, text]) => `<div><dt>${name} <span>${prefix}</span></dt><dd>${text}</dd></div>`).join('')}</dl>
<p>Each operation names its callers and the scopes that an Admin token needs.</p>
<h3 id="start-call">First call</h3>
<p>Register and log in. Registration needs no token while it is open for the application; the answer to the log-in has the <code>token</code> and the <code>user_id</code>.</p>
${codeBlock('curl', 'Register and log in, curl', logIn)}
${codeBlock('ts client', 'Log in, fetch', logInScript)}
<p>Send a message to a user, here 1001; <code>"targets"</code> takes your own <code>user_id</code> too.</p>
${codeBlock('curl', 'Send, curl', send)}
${codeBlock('ts', 'Send, fetch', sendScript)}
${codeBlock('client', 'Send, @hermod/client', sendClient)}
</section>`
}

/** The headers of all operations, each once. */
function headersOf(sections: readonly ReferenceSection[]): readonly ReferenceField[] {
  const fields = sections.flatMap(({ operations }) => operations.flatMap(({ headers }) => headers))
  return [...new Map(fields.map((field) => [field.path, field])).values()]
}

function headerEntry({ path, type, description }: ReferenceField): string {
  return `<div id="header-${anchor(path)}"><dt><code>${escapeHtml(path)}</code> <span>${escapeHtml(type)}</span></dt><dd>${escapeHtml(description)}</dd></div>`
}
