/**
 * The gate of the API reference: TypeDoc's own validation (links, unexported types, undocumented symbols), and each key
 * of a configuration or options type is documented.
 */
import { Application, ReflectionKind } from 'typedoc';

const app = await Application.bootstrap({ emit: 'none' });
const project = await app.convert();
if (!project) process.exit(1);
app.validate(project);

const undocumented = project
  .getReflectionsByKind(ReflectionKind.Property)
  .filter((key) => /(Config|Options)$/.test(key.parent?.name ?? '') && !key.hasComment())
  .map((key) => key.getFullName());
for (const name of undocumented) app.logger.error(`${name} has no documentation: what it does, its unit, its default`);

if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1);
console.log('The reference is complete.');
