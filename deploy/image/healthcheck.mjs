// The health check of the image: exit code 0 when the service answers 200 on the path.
const [path = '/readyz'] = process.argv.slice(2)
const port = process.env.HERMOD_PORT || '8080'
try {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    signal: AbortSignal.timeout(4_000),
  })
  process.exitCode = answer.ok ? 0 : 1
  console.log(`${answer.status} ${await answer.text()}`)
} catch (error) {
  process.exitCode = 1
  console.log(error.cause?.message ?? error.message)
}
