# Multi-Freq-LDPy functions for L-SUE (RAPPOR) protocol
# NumPy library
import numpy as np

from multi_freq_ldpy.long_freq_est.L_SUE import L_SUE_Aggregator, L_SUE_Client

# Parameters for simulation
eps_perm = 2  # longitudinal privacy
eps_1 = 0.5 * eps_perm  # first report privacy
n = int(1e6)  # number of users
k = 5  # attribute's domain size

# Simulation dataset following Uniform distribution
dataset = np.random.randint(k, size=n)

# Simulation of data collection
reports = [L_SUE_Client(user_data, k, eps_perm, eps_1) for user_data in dataset]

# Simulation of server-side aggregation
est_freq = L_SUE_Aggregator(reports, eps_perm, eps_1)
