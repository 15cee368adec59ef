// The services that the calls use, in a process of their own.
import { startSandbox } from '../../samples/sandbox/index.ts';
import { serve } from './child.ts';

const { endpoints } = await startSandbox({ keepRecords: 0 });
serve({ addresses: () => ({ alpha: endpoints.alpha, nu: endpoints.nu }) });
