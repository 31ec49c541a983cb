// Installs the dependencies of package-lock.json when node_modules differs from it. Runs before every npm script that needs
// them. This file and its import of the rest must be readable for old versions of Node, which get a message.
var major = Number(process.versions.node.split('.')[0])
if (major >= 20) import('./lib/install-dependencies.mjs')
else {
  console.error('Talaria needs Node 20 or newer to install itself; this is Node ' + process.versions.node + '.')
  console.error('Get a newer one from https://nodejs.org, or with a version manager: nvm install --lts')
  process.exit(1)
}
