"""The third listing of the paper, up to its output."""

# Multi-Freq-LDPy functions for RS+FD solution with GRR
# NumPy library
import numpy as np

from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Aggregator, RSpFD_GRR_Client

# Parameters
eps = 1  # privacy guarantee
n = int(1e6)  # number of users
k = 4  # attribute's domain size
d = 3  # number of attributes
lst_k = [k for _ in range(d)]  # attributes' domain size

# Simulation dataset following Uniform distribution
dataset = np.random.randint(k, size=(n, d))

# Simulation of data collection
reports = [RSpFD_GRR_Client(user_tuple, lst_k, d, eps) for user_tuple in dataset]

# Simulation of server-side aggregation
est_freq = RSpFD_GRR_Aggregator(reports, lst_k, d, eps)
