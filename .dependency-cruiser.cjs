/** Imports point one way: apps → worker → core, apps → gateway → core, producer → core. */
const PACKAGES = '^packages/';

module.exports = {
  forbidden: [
    {
      name: 'core-stands-alone',
      comment: 'core knows no Redis, no HTTP, no provider and none of the other packages.',
      severity: 'error',
      from: { path: '^packages/core/src' },
      to: {
        path: [
          '^packages/(?!core/)',
          '^apps/',
          '^infra/',
          'node_modules/(bullmq|ioredis|got|fastify|undici)(/|$)',
          '^(node:)?https?$',
        ],
      },
    },
    {
      name: 'gateway-knows-no-database',
      comment: 'gateway is what a provider is; it imports the pure part of core and no database.',
      severity: 'error',
      from: { path: '^packages/gateway/src' },
      to: {
        path: [
          '^packages/(?!core/|gateway/)',
          '^packages/core/src/(ledger|schema)/',
          '^apps/',
          '^infra/',
          'node_modules/(pg|@mikro-orm|bullmq|ioredis)(/|$)',
        ],
      },
    },
    {
      name: 'producer-imports-core-only',
      severity: 'error',
      from: { path: '^packages/producer/src' },
      to: { path: ['^packages/(?!core/|producer/)', '^apps/', '^infra/'] },
    },
    {
      name: 'worker-imports-core-only',
      severity: 'error',
      from: { path: '^packages/worker/src' },
      to: { path: ['^packages/(?!core/|worker/)', '^apps/', '^infra/'] },
    },
    {
      name: 'apps-do-not-import-apps',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'the-simulator-shares-no-code-with-the-adapter',
      comment: 'One mistake would hide in both.',
      severity: 'error',
      from: { path: '^apps/gateway-sim/' },
      to: { path: PACKAGES },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-test-code-in-source',
      severity: 'error',
      from: { path: '/src/' },
      to: { path: ['/test/', '^test/'] },
    },
    {
      name: 'nothing-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/dist/' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.mjs', '.js', '.cjs'],
    },
  },
};
