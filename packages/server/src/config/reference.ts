import { type Option, optionKeys, optionOf } from './options.js'
import { exampleSecretFile, secretFileName } from './secret-file.js'

/** The reference of every setting, as Markdown. */
export function configReference(): string {
  return `${introduction}\n${optionKeys.map(optionOf).map(section).join('\n')}`
}

const introduction = `# Configuration

Hermod is configured by environment variables and, optionally, by one JSON file. Everything has a default: without any setting the service
runs on one machine with its embedded database and needs no other service.

- The environment wins over the file, the file over the defaults. An empty variable counts as unset.
- \`HERMOD_CONFIG\` names the file. It contains one JSON object, with the names below as members; lists may be JSON lists, integers JSON
  numbers, \`on\` and \`off\` \`true\` and \`false\`:

  \`\`\`json
  { "HERMOD_PORT": 9000, "HERMOD_RATE_LIMIT": true, "HERMOD_CORS_ORIGINS": ["https://app.example.org"] }
  \`\`\`

- Each secret may be in a file, as containers and systemd hand them over: the setting with \`_FILE\` at the end of the name, such as
  \`HERMOD_SECRET_KEY_FILE=/run/secrets/secret-key\`, is the path of a file whose text is the value. White space around the text is left
  out. One source must not give both.
- Relative paths start at the folder that the service is started in.
- Unknown names, values that are not accepted and contradictions stop the start; all of them are named together.
- Variables that Kubernetes sets for a Service named \`hermod\`, such as \`HERMOD_PORT=tcp://…\` and \`HERMOD_SERVICE_HOST\`, are ignored.
- \`hermod config\` checks the settings and prints each with its source, \`hermod config --reference\` prints this page. Secrets are never
  printed.

| Setting | Default | Unit |
| --- | --- | --- |
${optionKeys
  .map(optionOf)
  .map(
    (option) =>
      `| [\`${option.name}\`](#${option.name.toLowerCase()}) | ${defaultOf(option)} | ${option.unit ?? ''} |`,
  )
  .join('\n')}
`

function section(option: Option): string {
  const unit = option.unit === undefined ? '' : ` (${option.unit})`
  const file = `\n- From a file: \`${secretFileName(option)}=${exampleSecretFile(option)}\``
  return `## ${option.name}

${option.text}

- Type: ${option.type}${unit}
- Default: ${defaultOf(option)}
- Must be: ${option.accepts}${option.sameOnNodes ? '\n- Several nodes: the same value on all of them' : ''}
- Example: \`${option.name}=${option.example}\`${option.secret ? file : ''}
`
}

function defaultOf(option: Option): string {
  if (option.default === null) return 'unset'
  const text = option.encode(option.default)
  return text === '' ? 'empty' : `\`${text}\``
}
