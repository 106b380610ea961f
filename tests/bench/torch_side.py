"""What a search written with torch does per step: automatic Jacobian, singular values, backward;
and the Adam search made of it. Same model as the joint block of include/tightlip/jacobian.h."""
import math
import time

import numpy
import torch

try:
    import functorch
except ImportError:
    functorch = None

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def softmax_map(x, log_mass, A):
    """Outputs at the atoms (value matrix the identity) when all copies of an atom move together."""
    return torch.softmax(x @ A.T @ x.T + log_mass, dim=1) @ x


def logsumexp_map(x, log_mass, A):
    """The same; torch batches the second derivative of this one better."""
    logits = x @ A.T @ x.T + log_mass
    return (logits - torch.logsumexp(logits, 1, keepdim=True)).exp() @ x


def autograd_jacobian(f, x):
    return torch.autograd.functional.jacobian(f, x, create_graph=True, vectorize=True)


def log_norm_by(outputs, jacobian):
    """x, log_mass, A -> log of the top singular value of sqrt(a_k / a_l) dF_k / dx_l."""
    def log_norm(x, log_mass, A):
        m, d = x.shape
        weight = torch.exp(0.5 * (log_mass[:, None] - log_mass[None, :]))
        block = jacobian(lambda y: outputs(y, log_mass, A), x) * weight[:, None, :, None]
        return torch.linalg.svdvals(block.reshape(m * d, m * d))[0].log()
    return log_norm


# Which is fastest depends on the size; the fastest is the one to beat.
FORMS = {"logsumexp, autograd.functional": log_norm_by(logsumexp_map, autograd_jacobian),
         "softmax, autograd.functional": log_norm_by(softmax_map, autograd_jacobian)}
if functorch:
    FORMS["softmax, functorch.jacfwd"] = log_norm_by(
        softmax_map, lambda f, x: functorch.jacfwd(f)(x))
    FORMS["softmax, functorch.jacrev"] = log_norm_by(
        softmax_map, lambda f, x: functorch.jacrev(f)(x))


def tensors(point, m, d):
    shapes = (("x", (m, d)), ("log_mass", (m,)), ("A", (d, d)))
    return [torch.tensor(point[name]).reshape(shape).requires_grad_() for name, shape in shapes]


def evaluate(form, leaves):
    """Value and gradients."""
    for leaf in leaves:
        leaf.grad = None
    value = FORMS[form](*leaves)
    value.backward()
    return value.item()


def seconds(form, leaves):
    start = time.process_time()
    evaluate(form, leaves)
    return time.process_time() - start


def fastest(point, m, d):
    """Processor seconds of every form, best first; one call is enough for a form far behind. Where
    a call takes seconds the forward mode alone is tried, the fastest from m d = 128 on."""
    leaves, times = tensors(point, m, d), {}
    large = m * d > 256 and functorch
    for form in ("softmax, functorch.jacfwd",) if large else FORMS:
        evaluate(form, leaves)
        times[form] = seconds(form, leaves)
        if times[form] < 4 * min(times.values()):
            times[form] = min([times[form]] + [seconds(form, leaves) for _ in range(6)])
    return dict(sorted(times.items(), key=lambda item: item[1]))


def differences(form, points, m, d):
    """Largest relative difference of value and of gradients from what the points carry."""
    value = gradient = 0.0
    for point in points:
        leaves = tensors(point, m, d)
        value = max(value, abs(math.expm1(evaluate(form, leaves) - point["log_value"])))
        for leaf, name in zip(leaves, ("gx", "ga", "gA")):
            ours = numpy.array(point[name])
            theirs = leaf.grad.numpy().ravel()
            size = numpy.linalg.norm(theirs)
            gradient = max(gradient, numpy.linalg.norm(ours - theirs) / size)
    return value, gradient


class Walk:
    """Times evaluations along the points, in processor seconds each."""

    def __init__(self, form, points, m, d):
        self.form = form
        self.leaves = [tensors(point, m, d) for point in points]

    def __call__(self):
        return sum(seconds(self.form, leaves) for leaves in self.leaves) / len(self.leaves)


def project(x, z, A, radius, n):
    """Tokens into the ball, masses to sum one with at least one token each, ||A|| to one."""
    with torch.no_grad():
        x *= torch.clamp(radius / x.norm(dim=1, keepdim=True), max=1.0)
        z.copy_(torch.log_softmax(z, 0).clamp(min=-math.log(n)))
        z.copy_(torch.log_softmax(z, 0))
        A /= torch.clamp(torch.linalg.matrix_norm(A, 2), min=1.0)


def adam_search(form, target, seed, atoms, d, radius, n, steps, rate, cap):
    """Restarts of Adam from random tokens and masses until target or `cap` processor seconds."""
    generator = torch.Generator().manual_seed(seed)
    start, best, evaluations, restarts = time.process_time(), 0.0, 0, 0
    while best < target and time.process_time() - start < cap:
        restarts += 1
        x = torch.randn(atoms, d, generator=generator)
        x *= radius / x.norm(dim=1, keepdim=True)
        z = -math.log(n) * torch.rand(atoms, generator=generator)
        A = torch.randn(d, d, generator=generator)
        project(x, z, A, radius, n)
        leaves = [t.requires_grad_() for t in (x, z, A)]
        optimiser = torch.optim.Adam(leaves, lr=rate)
        for _ in range(steps):
            optimiser.zero_grad()
            value = FORMS[form](x, torch.log_softmax(z, 0), A)
            evaluations += 1
            best = max(best, math.exp(value.item()))
            if best >= target or time.process_time() - start >= cap:
                break
            (-value).backward()
            optimiser.step()
            project(x, z, A, radius, n)
    return {"seconds": time.process_time() - start, "evaluations": evaluations,
            "restarts": restarts, "value": best, "reached": best >= target}


def layer_of(path, d, heads, n, causal):
    """The layer that the driver wrote: x, and a function of x."""
    numbers = torch.from_numpy(numpy.fromfile(path))
    k, at = d // heads, n * d
    x = numbers[:at].reshape(n, d)
    stacks = numbers[at:at + 3 * d * d].reshape(heads, 3, k, d)
    Q, K, V = (stacks[:, i].reshape(d, d) for i in range(3))
    O = numbers[at + 3 * d * d:].reshape(d, d)
    mask = torch.zeros(n, n)
    if causal:
        mask = mask.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf)

    def split(z):
        return z.reshape(n, heads, k).transpose(0, 1)

    def forward(y):
        q, key, value = (split(y @ W.T) for W in (Q, K, V))
        weights = torch.softmax(q @ key.transpose(1, 2) / math.sqrt(k) + mask, dim=-1)
        return (weights @ value).transpose(0, 1).reshape(n, d) @ O.T
    return x, forward


def power_iteration(path, d, heads, n, causal, reference, cap):
    """Seconds until the quotient is within 1e-6 of the reference, at most cap of them: jvp and vjp
    of functorch, the forward pass of the vjp kept between iterations."""
    x, forward = layer_of(path, d, heads, n, causal)
    v = torch.randn(n, d, generator=torch.Generator().manual_seed(1))
    v /= v.norm()
    start, steps, value = time.process_time(), 0, 0.0
    _, pull = functorch.vjp(forward, x)
    while value < reference * (1 - 1e-6) and time.process_time() - start < cap:
        _, u = functorch.jvp(forward, (x,), (v,))
        value = u.norm().item()
        v = pull(u)[0]
        v /= v.norm()
        steps += 1
    return {"seconds": time.process_time() - start, "steps": steps, "value": value,
            "reached": value >= reference * (1 - 1e-6)}


def numpy_value(point, m, d):
    """log of the norm by numpy alone: the joint block from its formula, then svd."""
    x, a, A = (numpy.array(point[name]) for name in ("x", "log_mass", "A"))
    x, A = x.reshape(m, d), A.reshape(d, d)
    logits = x @ A.T @ x.T + a
    P = numpy.exp(logits - logits.max(1, keepdims=True))
    P /= P.sum(1, keepdims=True)
    xi = x[None] - (P @ x)[:, None]
    covariance = numpy.einsum("kl,kli,klj->kij", P, xi, xi)
    block = numpy.einsum("kli,kj->kilj", P[:, :, None] * xi, x @ A.T)
    block += numpy.einsum("kl,ij->kilj", P, numpy.eye(d))
    block *= numpy.exp(0.5 * (a[:, None] - a[None]))[:, None, :, None]
    for k in range(m):
        block[k, :, k] += covariance[k] @ A
    return math.log(numpy.linalg.svd(block.reshape(m * d, m * d), compute_uv=False)[0])


def time_numpy(points, m, d):
    start = time.process_time()
    for point in points:
        numpy_value(point, m, d)
    return (time.process_time() - start) / len(points)
